import { readFile } from 'node:fs/promises';
import { PlatformError } from '#common';

/** Words and how they are said: phones of CMUdict, vowels with their stress (0 none, 1 main, 2 second). */
export class PronunciationDictionary {
  private constructor(private readonly words: ReadonlyMap<string, string>) {}

  /**
   * Reads the module of the package `cmu-pronouncing-dictionary` as text: one object of words and phones, which is also
   * JSON. It is never run. Rejects with `INVALID_MODEL` when the file is something else.
   */
  static async load(path: string): Promise<PronunciationDictionary> {
    try {
      const text = await readFile(path, 'utf8');
      const entries = JSON.parse(text.slice(text.indexOf('= {') + 1, text.lastIndexOf('}') + 1)) as Record<
        string,
        string
      >;
      return PronunciationDictionary.of(entries);
    } catch (error) {
      throw new PlatformError('INVALID_MODEL', 'The pronouncing dictionary of this model cannot be read.', null, {
        cause: error,
      });
    }
  }

  /** For tests and small vocabularies. Second pronunciations, `read(2)`, are left out: context decides, not chance. */
  static of(entries: Readonly<Record<string, string>>): PronunciationDictionary {
    return new PronunciationDictionary(new Map(Object.entries(entries).filter(([word]) => !word.endsWith(')'))));
  }

  /** Null for a word it does not know. Case does not matter. */
  find(word: string): string[] | null {
    return this.words.get(word.toLowerCase())?.split(' ') ?? null;
  }

  has(word: string): boolean {
    return this.words.has(word.toLowerCase());
  }
}
