import { PlatformError } from '#common';
import type { EncodedSentence } from '../text/sentence-tokenizer.js';
import type { EmbeddingInput } from './embedding-task.js';
import type { BatchRow } from './length-batcher.js';

/** One text of a request, tokenized. */
export interface EmbeddingRow extends BatchRow {
  /** Position in the request. */
  readonly index: number;
  readonly ids: Int32Array;
}

/** Number of texts tokenized before the next request gets its turn. */
const textsPerTurn = 16;

/** A request in progress in the engine. */
export class EmbeddingRequest {
  readonly rows: EmbeddingRow[] = [];
  /** Rows in the running batch. */
  inBatch = 0;
  isCancelled = false;
  computedTokens = 0;
  private computedRows = 0;

  constructor(
    readonly id: string,
    readonly input: EmbeddingInput,
  ) {}

  get isRead(): boolean {
    return this.rows.length === this.input.texts.length;
  }

  get isComputed(): boolean {
    return this.computedRows === this.input.texts.length;
  }

  /** Tokenizes the next texts. Throws `TOO_MANY_TOKENS` naming the first text that is too long. */
  readSome(tokenize: (text: string) => EncodedSentence, maxTokens: number): void {
    const { texts } = this.input;
    const end = Math.min(this.rows.length + textsPerTurn, texts.length);
    for (let index = this.rows.length; index < end; index++) {
      const encoded = tokenize(texts[index] ?? '');
      if ('tooLong' in encoded) throw tooLong(index, texts.length, { tokens: encoded.tooLong, maxTokens });
      const { ids } = encoded;
      this.rows.push({ owner: this.id, index, ids, length: ids.length });
    }
  }

  countComputed(rows: readonly EmbeddingRow[]): void {
    this.computedRows += rows.length;
    for (const { length } of rows) this.computedTokens += length;
  }
}

function tooLong(index: number, count: number, { tokens, maxTokens }: { tokens: string; maxTokens: number }) {
  const which = count === 1 ? 'The input' : `The text at position ${index}`;
  return new PlatformError(
    'TOO_MANY_TOKENS',
    `${which} has ${tokens} tokens; this model takes ${maxTokens}.`,
    count === 1 ? 'input' : `input[${index}]`,
  );
}
