import type { NanoUsd, TokenUsage } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * Prices of embeddings, as pure functions: tokens of the texts, including those the model puts around each text. There
 * is no output, so an `output` price bills nothing.
 */

/** What the meter needs to know about a model. */
export interface EmbeddingTariff {
  /** Longest text in tokens. */
  maxInputTokens: number;
  pricing: Pricing | null;
}

/** A token is at least one byte of the normalized text, and NFKC normalization expands a byte to at most 11. */
const maxTokensPerByte = 11;
/** Tokens a model may put around a text. */
const maxTokensAround = 16;

/** Returns the maximum number of tokens of the texts; longer texts are refused. */
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
