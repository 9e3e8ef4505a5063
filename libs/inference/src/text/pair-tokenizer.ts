import type { Tokenizer } from '@huggingface/tokenizers';
import { PlatformError } from '#common';
import { ControlTokens } from './control-tokens.js';
import { readMarkedText } from './marked-text.js';
import { encodeInTime } from './word-patterns.js';
import { loadTokenizer, padIdOf } from './text-tokenizer.js';

/** Characters tokenized at first, and how far beyond a limit a part of a text must reach to stand for all of it. */
const segmentCharacters = 32_768;
const toleranceFactor = 2;
const toleranceTokens = 64;

/** Two texts as one sequence. */
export interface EncodedPair {
  ids: Int32Array;
  /** 0 for the first text, 1 for the second, as the model's tokenizer says. */
  types: Int32Array;
}

/** Joins documents to a query. */
export interface OpenQuery {
  /** Length of the query in tokens. */
  tokens: number;
  /** Tokens that a document may have; less than 1: none. */
  room: number;
  /** Cuts a document after `max` tokens, at most `room`. */
  join(document: string, max: number): EncodedPair;
}

export interface PairEncoder {
  /**
   * Reads a query that documents are joined to, in at most `maxTokens` tokens together. `instruction` replaces that of
   * a model with a prompt; others get none.
   */
  open(query: string, maxTokens: number, instruction?: string): OpenQuery;
}

/** Special tokens before, between and behind two texts, and the token types of every part. */
interface PairForm {
  before: Part;
  first: number;
  between: Part;
  second: number;
  behind: Part;
}

interface Part {
  ids: number[];
  types: number[];
}

/**
 * Joins two texts to one sequence with the model's special tokens, by `tokenizer.json`. Such a token's text in a text is
 * text, so that no document can end itself and begin another.
 */
export class PairTokenizer implements PairEncoder {
  readonly padId: number;
  private readonly control: ControlTokens;

  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly form: PairForm,
    padId: number,
  ) {
    this.padId = padId;
    this.control = new ControlTokens(tokenizer.get_added_tokens_decoder().values());
    readMarkedText(tokenizer, this.control);
  }

  /** Rejects with `INVALID_MODEL` if the tokenizer does not keep two texts apart. */
  static async load(directory: string): Promise<PairTokenizer> {
    const { tokenizer, config } = await loadTokenizer(directory);
    return new PairTokenizer(tokenizer, readForm(tokenizer), padIdOf(tokenizer, config));
  }

  /** Special tokens of a pair. */
  get specialTokens(): number {
    const { before, between, behind } = this.form;
    return before.ids.length + between.ids.length + behind.ids.length;
  }

  open(query: string, maxTokens: number): OpenQuery {
    const ids = this.read(query, maxTokens);
    return {
      tokens: ids.length,
      room: maxTokens - this.specialTokens - ids.length,
      join: (document, max) => this.join(ids, this.read(document, max).slice(0, max)),
    };
  }

  /** Returns the ids of one text without special tokens. A text of many more than `limit` is read up to there. */
  read(text: string, limit: number): number[] {
    return readWithin(text, limit, (part) => {
      const marked = this.control.mark(part.toWellFormed());
      return encodeInTime(marked, () => this.tokenizer.encode(marked, { add_special_tokens: false }).ids);
    });
  }

  /** Joins ids of two texts from `read`. */
  join(first: readonly number[], second: readonly number[]): EncodedPair {
    const { form } = this;
    const filled = (count: number, type: number): number[] => Array.from({ length: count }, () => type);
    return {
      ids: Int32Array.from([...form.before.ids, ...first, ...form.between.ids, ...second, ...form.behind.ids]),
      types: Int32Array.from([
        ...[...form.before.types, ...filled(first.length, form.first), ...form.between.types],
        ...[...filled(second.length, form.second), ...form.behind.types],
      ]),
    };
  }
}

/** Reads a text; of one with many more than `limit` tokens, so much that the rest does not change the first of them. */
export function readWithin(text: string, limit: number, read: (part: string) => number[]): number[] {
  const enough = limit * toleranceFactor + toleranceTokens;
  for (let characters = segmentCharacters; ; characters *= 2) {
    const ids = read(text.slice(0, characters));
    if (characters >= text.length || ids.length > enough) return ids;
  }
}

/** Finds two known texts in the sequence that the tokenizer makes of them. */
function readForm(tokenizer: Tokenizer): PairForm {
  const [first, second] = ['a', 'b'] as const;
  const { ids, token_type_ids: types } = tokenizer.encode(first, { text_pair: second, return_token_type_ids: true });
  const plain = (text: string): number[] => tokenizer.encode(text, { add_special_tokens: false }).ids;
  const [ofFirst, other] = [plain(first), plain(second)];
  const start = indexOfRun(ids, ofFirst, 0);
  const next = indexOfRun(ids, other, start + ofFirst.length + 1);
  if (start < 0 || next < 0) {
    throw new PlatformError('INVALID_MODEL', 'The tokenizer of this model does not keep two texts apart.');
  }
  const part = (from: number, to: number): Part => ({ ids: ids.slice(from, to), types: types.slice(from, to) });
  return {
    before: part(0, start),
    first: types[start] ?? 0,
    between: part(start + ofFirst.length, next),
    second: types[next] ?? 0,
    behind: part(next + other.length, ids.length),
  };
}

function indexOfRun(ids: readonly number[], run: readonly number[], from: number): number {
  if (run.length === 0) return -1;
  return ids.findIndex((_id, index) => index >= from && run.every((id, offset) => ids[index + offset] === id));
}
