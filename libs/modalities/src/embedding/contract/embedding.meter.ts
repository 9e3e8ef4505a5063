import type { NanoUsd, TokenUsage } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * What embeddings cost, as pure functions: tokens of the texts, those included that the model puts around each of them.
 * There is no output, so the `output` price of the contract's shape bills nothing.
 */

/** What the meter must know of a model. */
export interface EmbeddingTariff {
  /** Longest text, in tokens. */
  maxInputTokens: number;
  pricing: Pricing | null;
}

/** A token is at least one byte of the normalised text, and normalising (NFKC) makes at most 11 bytes of one. */
const maxTokensPerByte = 11;
/** Tokens a model may put around a text. */
const maxTokensAround = 16;

/** The most tokens that texts can have; longer ones are refused. */
export function maxEmbeddingTokens(texts: readonly string[], { maxInputTokens }: EmbeddingTariff): number {
  const bound = (text: string) => Buffer.byteLength(text) * maxTokensPerByte + maxTokensAround;
  return texts.reduce((sum, text) => sum + Math.min(maxInputTokens, bound(text)), 0);
}

/** The worst case of a request. Never less than what `embeddingUnits` bill for it. */
export function quoteEmbedding(texts: readonly string[], tariff: EmbeddingTariff): NanoUsd {
  return quoteUnits(embeddingUnits({ promptTokens: maxEmbeddingTokens(texts, tariff) }), tariff.pricing);
}

/** What a job is charged for. */
export function embeddingUnits({ promptTokens }: Pick<TokenUsage, 'promptTokens'>): BillableUnit[] {
  return [{ sku: 'embedding-input-mtoken', price: 'input', measure: 'million', count: promptTokens }];
}
