import { PlatformError } from '#common';
import type { EncodedSentence } from '../text/sentence-tokenizer.js';
import type { EmbeddingInput } from './embedding-task.js';
import type { BatchRow } from './length-batcher.js';
import { RowRequest } from './row-request.js';

/** One text of a request, tokenized. */
export interface EmbeddingRow extends BatchRow {
  /** Position in the request. */
  readonly index: number;
  readonly ids: Int32Array;
}

/** How a model reads its texts. */
export interface SentenceReader {
  tokenize: (text: string) => EncodedSentence;
  /** Null unless the ids are what the model's tokenizer makes of a text. */
  readIds: (ids: readonly number[]) => EncodedSentence | null;
  maxTokens: number;
}

/** The texts of a request, or token ids that mean texts. */
export class EmbeddingRequest extends RowRequest<EmbeddingRow> {
  constructor(
    id: string,
    readonly input: EmbeddingInput,
    private readonly reader: SentenceReader,
  ) {
    super(id, input.tokenIds?.length ?? input.texts.length);
  }

  /** Throws `TOO_MANY_TOKENS` for a text that is too long, `INVALID_REQUEST` for token ids of another tokenizer. */
  protected readRow(index: number): EmbeddingRow {
    const { input, reader, count } = this;
    const tokenIds = input.tokenIds?.[index];
    const encoded = tokenIds === undefined ? reader.tokenize(input.texts[index] ?? '') : reader.readIds(tokenIds);
    if (encoded === null) throw foreignIds(index, count);
    if ('tooLong' in encoded) throw tooLong(index, count, { tokens: encoded.tooLong, maxTokens: reader.maxTokens });
    const { ids } = encoded;
    return { owner: this.id, index, ids, length: ids.length };
  }
}

function tooLong(index: number, count: number, { tokens, maxTokens }: { tokens: string; maxTokens: number }) {
  const which = count === 1 ? 'the input' : `the text at position ${index}`;
  return new PlatformError(
    'TOO_MANY_TOKENS',
    `This model's maximum context length is ${maxTokens} tokens. However, ${which} has ${tokens} tokens.`,
    count === 1 ? 'input' : `input[${index}]`,
  );
}

function foreignIds(index: number, count: number): PlatformError {
  const param = count === 1 ? 'input' : `input[${index}]`;
  const text = `${param} holds token ids that this model's tokenizer does not write. They mean other words to it: send texts.`;
  return new PlatformError('INVALID_REQUEST', text, param);
}
