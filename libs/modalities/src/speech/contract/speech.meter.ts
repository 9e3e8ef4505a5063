import type { JobUsage, NanoUsd } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';

/* Prices of speech, as pure functions: characters (code points) of the text, including spaces and punctuation. */

export function countCharacters(text: string): number {
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters;
}

/** The cost of a text that is said to its end; never less than what `speechUnits` bill for it. */
export function quoteSpeech(text: string, pricing: Pricing | null): NanoUsd {
  return quoteUnits([charactersUnit(countCharacters(text))], pricing);
}

/** What a job is charged for. */
export function speechUnits({ units }: JobUsage): BillableUnit[] {
  return [charactersUnit(units?.characters ?? 0)];
}

function charactersUnit(count: number): BillableUnit {
  return { sku: 'tts-input-mcharacter', price: 'input', measure: 'million', count };
}
