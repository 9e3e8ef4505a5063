import { costPerMillion, formatNanos, type NanoUsd, nanosOf, type TokenUsage } from '#common';
import type { Price } from '#model-registry/manifest';

/*
 * What embeddings cost, as pure functions: tokens of the texts, those included that the model puts around each of them.
 * There is no output, so the `output` price of the contract's shape bills nothing.
 */

/** What a manifest of type `embedding` calls its price, per million tokens. */
export interface EmbeddingPricing {
  input: Price;
  output: Price;
}

/** What the meter must know of a model. */
export interface EmbeddingTariff {
  /** Longest text, in tokens. */
  maxInputTokens: number;
  pricing: EmbeddingPricing | null;
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

/** The worst case of a request. Never less than what `embeddingChargeLines` bills for it. */
export function quoteEmbedding(texts: readonly string[], tariff: EmbeddingTariff): NanoUsd {
  const { pricing } = tariff;
  return pricing === null ? 0n : costPerMillion(maxEmbeddingTokens(texts, tariff), nanosOf(pricing.input.usd));
}

/** The position of a charge, in millions of tokens; none where the model is free. */
export function embeddingChargeLines(
  modelId: string,
  { promptTokens }: Pick<TokenUsage, 'promptTokens'>,
  pricing: EmbeddingPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  if (pricing === null) return [];
  const unitPriceNano = nanosOf(pricing.input.usd);
  return [
    {
      sku: `${modelId}-embedding-input-mtoken`,
      units: formatNanos(BigInt(promptTokens) * 1_000n, 6),
      unitPriceNano,
      amountNano: costPerMillion(promptTokens, unitPriceNano),
    },
  ];
}
