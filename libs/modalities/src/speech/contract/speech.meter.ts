import { costPerMillion, formatNanos, type JobUsage, type NanoUsd, nanosOf } from '#common';
import type { Price } from '#model-registry/manifest';

/*
 * What speech costs, as pure functions: characters (code points) of the text, space and marks included.
 */

/** What a manifest of type `tts` calls its price, per million characters. */
export interface SpeechPricing {
  input: Price;
}

export function countCharacters(text: string): number {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}

/** The cost of a text that is said to its end; never less than what `speechChargeLines` bills for it. */
export function quoteSpeech(text: string, pricing: SpeechPricing | null): NanoUsd {
  return pricing === null ? 0n : costPerMillion(countCharacters(text), nanosOf(pricing.input.usd));
}

/** The position of a charge, in millions of characters; none where the model is free. */
export function speechChargeLines(
  modelId: string,
  usage: JobUsage,
  pricing: SpeechPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  if (pricing === null) return [];
  const characters = usage.units?.characters ?? 0;
  const unitPriceNano = nanosOf(pricing.input.usd);
  return [
    {
      sku: `${modelId}-tts-input-mcharacter`,
      units: formatNanos(BigInt(characters) * 1_000n, 6),
      unitPriceNano,
      amountNano: costPerMillion(characters, unitPriceNano),
    },
  ];
}
