import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';

/** Names of the file in the two layouts of exports. */
const fileNames = ['vocab.txt', 'tokens.txt'];
const blankToken = '<blk>';
/** Tokens that are no text, such as `<unk>` and `<|en|>`. */
const special = /^<[^<>]+>$/;
const spaceMark = '▁';

/** The pieces of text that a transducer writes, and the blank with which it writes nothing. */
export class TransducerVocabulary {
  readonly blank: number;

  /** `tokens` are in the order of their ids. Throws `INVALID_MODEL` without a blank. */
  constructor(private readonly tokens: readonly string[]) {
    this.blank = tokens.indexOf(blankToken);
    if (this.blank < 0) throw invalid(`has no ${blankToken}`);
  }

  /** Reads lines of a token and its id. Rejects with `INVALID_MODEL` if they are missing or something else. */
  static async load(directory: string): Promise<TransducerVocabulary> {
    for (const name of fileNames) {
      const text = await readFile(join(directory, name), 'utf8').catch(() => null);
      if (text !== null) return TransducerVocabulary.parse(text);
    }
    throw invalid(`is missing: there is neither ${fileNames.join(' nor ')}`);
  }

  static parse(text: string): TransducerVocabulary {
    const lines = text.split(/\r?\n/).filter((line) => line !== '');
    const tokens: string[] = [];
    for (const [index, line] of lines.entries()) {
      const space = line.lastIndexOf(' ');
      if (space < 0 || Number(line.slice(space + 1)) !== index) throw invalid(`is invalid in line ${index + 1}`);
      tokens.push(line.slice(0, space));
    }
    return new TransducerVocabulary(tokens);
  }

  get size(): number {
    return this.tokens.length;
  }

  /** Returns the text of a token, with a leading space where a word begins. Empty for special tokens. */
  textOf(id: number): string {
    const token = this.tokens[id] ?? '';
    return special.test(token) ? '' : token.replaceAll(spaceMark, ' ');
  }
}

function invalid(problem: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model's vocabulary ${problem}.`);
}
