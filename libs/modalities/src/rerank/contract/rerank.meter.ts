import type { NanoUsd, TokenUsage } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';
import type { RerankJobPayload } from './rerank.job.js';

/*
 * Prices of reranking, as pure functions. The model reads the query once per document, so its tokens count once per
 * document, as do those that the model puts around each pair. There is no output.
 */

/** What the meter needs to know about a model. */
export interface PricedLimits {
  /** Longest pair of query and document in tokens; a longer document is cut. */
  maxInputTokens: number;
  pricing: Pricing | null;
}

/** A token is at least one byte of the normalized text, and NFKC normalization expands a byte to at most 11. */
const maxTokensPerByte = 11;
/** Tokens a model may put around a pair. */
const maxTokensAround = 16;

type RankedInput = Pick<RerankJobPayload, 'query' | 'documents' | 'maxTokensPerDocument'>;

/** Returns the maximum number of tokens that the model reads. */
export function maxRerankTokens(
  { query, documents, maxTokensPerDocument }: RankedInput,
  { maxInputTokens }: PricedLimits,
): number {
  const cut = maxTokensPerDocument ?? Infinity;
  const ofQuery = tokensOf(query) + maxTokensAround;
  return documents.reduce((sum, each) => sum + Math.min(maxInputTokens, ofQuery + Math.min(cut, tokensOf(each))), 0);
}

function tokensOf(text: string): number {
  return Buffer.byteLength(text) * maxTokensPerByte;
}

/** The worst case of a request. Never less than what `rerankUnits` bill for it. */
export function quoteRerank(input: RankedInput, limits: PricedLimits): NanoUsd {
  return quoteUnits(rerankUnits({ promptTokens: maxRerankTokens(input, limits) }), limits.pricing);
}

/** What a job is charged for. */
export function rerankUnits({ promptTokens }: Pick<TokenUsage, 'promptTokens'>): BillableUnit[] {
  return [{ sku: 'rerank-input-mtoken', price: 'input', measure: 'million', count: promptTokens }];
}
