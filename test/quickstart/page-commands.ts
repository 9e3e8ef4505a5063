import { readFile } from 'node:fs/promises';

export type Language = 'sh' | 'js' | 'python';

/** The code of one fence. */
export interface PageCommand {
  language: Language;
  code: string;
  /** False: it names the second machine in its first line. */
  isFirstMachine: boolean;
}

const languages: readonly string[] = ['sh', 'js', 'python'] satisfies Language[];

/** Reads every fence of a page, in order; throws for one in a language that nothing here runs. */
export async function readPageCommands(path: string): Promise<PageCommand[]> {
  const text = await readFile(path, 'utf8');
  return [...text.matchAll(/^```(.*)\n((?:(?!```).*\n)*)```$/gm)].map(([, language = '', code = '']) => {
    if (!languages.includes(language)) throw new Error(`${path} has a fence of "${language}", which nothing runs.`);
    return { language: language as Language, code, isFirstMachine: !code.startsWith('# On the second machine\n') };
  });
}
