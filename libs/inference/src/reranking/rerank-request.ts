import { PlatformError } from '#common';
import { type EncoderRow, RowRequest } from '../embedding/index.js';
import type { OpenQuery, PairEncoder } from '../text/index.js';
import type { RerankInput } from './rerank-task.js';

/** Tokens that one request may make the model read: each document is read with the query beside it. */
export const maxRequestTokens = 2_000_000;

/** The query and one document, tokenized. */
export interface PairRow extends Required<EncoderRow> {
  readonly owner: string;
  /** Position of the document. */
  readonly index: number;
  readonly length: number;
}

export interface PairReader {
  tokenizer: PairEncoder;
  /** Longest pair in tokens. */
  maxTokens: number;
}

/** The documents of a request, each as a pair with the query. */
export class RerankRequest extends RowRequest<PairRow> {
  private query: OpenQuery | null = null;
  private tokens = 0;

  constructor(
    id: string,
    private readonly input: RerankInput,
    private readonly reader: PairReader,
  ) {
    super(id, input.documents.length);
  }

  /** Cuts a document that does not fit. Throws `TOO_MANY_TOKENS` for a query that leaves no room for documents. */
  protected readRow(index: number): PairRow {
    this.query ??= this.openQuery();
    const { room } = this.query;
    const max = Math.min(room, this.input.maxTokensPerDocument ?? room);
    const { ids, types } = this.query.join(this.input.documents[index] ?? '', max);
    this.tokens += ids.length;
    if (this.tokens > maxRequestTokens) throw tooMuch(index);
    return { owner: this.id, index, ids, types, length: ids.length };
  }

  private openQuery(): OpenQuery {
    const { tokenizer, maxTokens } = this.reader;
    const query = tokenizer.open(this.input.query, maxTokens, this.input.instruction);
    if (query.room >= 1) return query;
    const message = `This model reads at most ${maxTokens} tokens of query and document together. The query has ${query.tokens} or more, which leaves no room for a document.`;
    throw new PlatformError('TOO_MANY_TOKENS', message, 'query');
  }
}

function tooMuch(index: number): PlatformError {
  const message = `A request may have at most ${maxRequestTokens} tokens, the query counted once per document. The first ${index + 1} documents have more.`;
  return new PlatformError('TOO_MANY_TOKENS', message, 'documents');
}
