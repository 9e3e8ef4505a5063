import { fileURLToPath } from 'node:url';

/** What Node runs as decoder. */
export interface DecoderProgram {
  modulePath: string;
  nodeArguments: readonly string[];
}

/** The program beside this file. Sources need the options of this process, which can run sources. */
export function decoderProgram(): DecoderProgram {
  const isSource = import.meta.url.endsWith('.ts');
  return {
    modulePath: fileURLToPath(new URL(`./decode.main.${isSource ? 'ts' : 'js'}`, import.meta.url)),
    nodeArguments: isSource ? process.execArgv.filter((option) => !/^--(inspect|expose|max)/.test(option)) : [],
  };
}
