import { readFile } from 'node:fs/promises';
import { PlatformError } from '#common';

/** Pronouncing dictionary: CMUdict phones, vowels with their stress (0 none, 1 primary, 2 secondary). */
export class PronunciationDictionary {
  private constructor(private readonly words: ReadonlyMap<string, string>) {}

  /**
   * Parses the module of the package `cmu-pronouncing-dictionary` as text, without running it. It contains one object
   * of words and phones, which is valid JSON. Rejects with `INVALID_MODEL` for any other file.
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

  /**
   * For tests and small vocabularies. Alternative pronunciations such as `read(2)` are dropped, because context decides
   * between them.
   */
  static of(entries: Readonly<Record<string, string>>): PronunciationDictionary {
    return new PronunciationDictionary(new Map(Object.entries(entries).filter(([word]) => !word.endsWith(')'))));
  }

  /** Returns null for an unknown word. Case-insensitive. */
  find(word: string): string[] | null {
    return this.words.get(word.toLowerCase())?.split(' ') ?? null;
  }

  has(word: string): boolean {
    return this.words.has(word.toLowerCase());
  }
}
