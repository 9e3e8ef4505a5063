import type { NanoUsd, TokenUsage } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';
import type { EmbeddingJobPayload } from './embedding.job.js';

/*
 * Prices of embeddings, as pure functions: tokens of the texts, including those the model puts around each text. There
 * is no output, so an `output` price bills nothing.
 */

/** What the meter needs to know about a model. */
export interface PricedLimits {
  /** Longest text in tokens. */
  maxInputTokens: number;
  pricing: Pricing | null;
}

/** A token is at least one byte of the normalized text, and NFKC normalization expands a byte to at most 11. */
const maxTokensPerByte = 11;
/** Tokens a model may put around a text. */
const maxTokensAround = 16;

/** Texts, or the token ids of texts, of which each is one token. */
type EmbeddedInput = Pick<EmbeddingJobPayload, 'texts' | 'tokenIds'>;

/** Returns the maximum number of tokens of the texts; longer texts are refused. */
export function maxEmbeddingTokens({ texts, tokenIds = [] }: EmbeddedInput, { maxInputTokens }: PricedLimits): number {
  const ofTexts = texts.map((text) => Buffer.byteLength(text) * maxTokensPerByte + maxTokensAround);
  const bounds = [...ofTexts, ...tokenIds.map((ids) => ids.length)];
  return bounds.reduce((sum, tokens) => sum + Math.min(maxInputTokens, tokens), 0);
}

/** The worst case of a request. Never less than what `embeddingUnits` bill for it. */
export function quoteEmbedding(input: EmbeddedInput, limits: PricedLimits): NanoUsd {
  return quoteUnits(embeddingUnits({ promptTokens: maxEmbeddingTokens(input, limits) }), limits.pricing);
}

/** What a job is charged for. */
export function embeddingUnits({ promptTokens }: Pick<TokenUsage, 'promptTokens'>): BillableUnit[] {
  return [{ sku: 'embedding-input-mtoken', price: 'input', measure: 'million', count: promptTokens }];
}
