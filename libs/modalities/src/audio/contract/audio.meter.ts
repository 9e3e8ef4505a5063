import type { JobUsage, NanoUsd } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * Prices of queued audio, as pure functions. A unit is named by its position in the price list: `input` and
 * `per_thousand_characters` count characters (code points), `per_second` counts seconds, `generation` and
 * `durations.<tier>` count pieces.
 */

export type AudioUnits = Readonly<Record<string, number>>;

/** Size of a requested piece; null where the caller does not say. */
export interface AudioSize {
  characters: number | null;
  seconds: number | null;
}

/**
 * Returns the units a job of this size uses, or the name of the figure that is missing or outside every tier. A free
 * model uses no units.
 */
export function unitsOfAudio(
  pricing: Pricing | null,
  { characters, seconds }: AudioSize,
): AudioUnits | 'character_count' | 'duration_seconds' {
  if (pricing === null) return {};
  if (pricing.generation !== undefined) return { generation: 1 };
  const byCharacter = pricing.input === undefined ? 'per_thousand_characters' : 'input';
  if (pricing[byCharacter] !== undefined)
    return characters === null ? 'character_count' : { [byCharacter]: characters };
  if (seconds === null) return 'duration_seconds';
  if (pricing.per_second !== undefined) return { per_second: seconds };
  const tier = Object.entries(pricing.durations ?? {}).find(
    ([, { min_seconds: from, max_seconds: to }]) => seconds >= from && seconds <= to,
  );
  return tier === undefined ? 'duration_seconds' : { [`durations.${tier[0]}`]: 1 };
}

/** The price of a job: exactly what is billed for the same units. */
export function quoteAudio(units: AudioUnits, pricing: Pricing | null): NanoUsd {
  return quoteUnits(billable(units), pricing);
}

/** What a job is charged for; a job without a result used nothing. */
export function audioUnits({ units = {} }: JobUsage): BillableUnit[] {
  return billable(units);
}

function billable(units: AudioUnits): BillableUnit[] {
  return Object.entries(units).flatMap(([price, count]) => {
    const kind = count === 0 ? null : kindOf(price);
    return kind === null ? [] : [{ ...kind, price, count }];
  });
}

function kindOf(unit: string): Pick<BillableUnit, 'sku' | 'measure'> | null {
  if (unit === 'input') return { sku: 'tts-input-mcharacter', measure: 'million' };
  if (unit === 'per_thousand_characters') return { sku: 'audio-input-kcharacter', measure: 'thousand' };
  if (unit === 'per_second') return { sku: 'audio-second', measure: 'piece' };
  if (unit === 'generation') return { sku: 'audio-unit', measure: 'piece' };
  const [, tier] = /^durations\.(.+)$/.exec(unit) ?? [];
  return tier === undefined ? null : { sku: `audio-${tier.toLowerCase()}-unit`, measure: 'piece' };
}
