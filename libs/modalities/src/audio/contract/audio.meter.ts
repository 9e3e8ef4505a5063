import { costPerMillion, formatNanos, type JobUsage, type NanoUsd, nanosOf } from '#common';
import type { Price } from '#model-registry/manifest';

/*
 * What queued sound costs, as pure functions. A unit is named by its place in the price list: `input` and
 * `per_thousand_characters` count characters (code points), `per_second` seconds, `generation` and `durations.<tier>`
 * pieces.
 */

/** What manifests of types `tts` and `music` call their prices; exactly one is there. */
export interface AudioPricing {
  /** Per million characters, of voices. */
  input?: Price;
  generation?: Price;
  durations?: Record<string, Price & { min_seconds: number; max_seconds: number }>;
  per_second?: Price;
  per_thousand_characters?: Price;
}

export type AudioUnits = Readonly<Record<string, number>>;

/** What a caller says of the sound; null where nothing is said. */
export interface AudioSize {
  characters: number | null;
  seconds: number | null;
}

/** What a job of a size uses, or which figure is missing or in no tier. A free model uses nothing. */
export function unitsOfAudio(
  pricing: AudioPricing | null,
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

/** The price of a job: exactly what `audioChargeLines` bills for the same units. */
export function quoteAudio(units: AudioUnits, pricing: AudioPricing | null): NanoUsd {
  return lines('', units, pricing).reduce((sum, { amountNano }) => sum + amountNano, 0n);
}

/** The positions of a charge; what has no price is free, and a job that brought nothing used nothing. */
export function audioChargeLines(
  modelId: string,
  usage: JobUsage,
  pricing: AudioPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  return lines(modelId, usage.units ?? {}, pricing);
}

function lines(modelId: string, units: AudioUnits, pricing: AudioPricing | null) {
  return Object.entries(units).flatMap(([unit, count]) => {
    const line = count === 0 ? null : lineOf(unit, count, pricing);
    return line === null ? [] : [{ ...line, sku: `${modelId}-${line.sku}` }];
  });
}

function lineOf(unit: string, count: number, pricing: AudioPricing | null) {
  const { input, generation, durations, per_second, per_thousand_characters } = pricing ?? {};
  if (unit === 'input' && input) return characterLine('tts-input-mcharacter', count, nanosOf(input.usd), 1_000_000);
  if (unit === 'per_thousand_characters' && per_thousand_characters) {
    return characterLine('audio-input-kcharacter', count, nanosOf(per_thousand_characters.usd), 1_000);
  }
  if (unit === 'per_second' && per_second) return pieces('audio-second', count, nanosOf(per_second.usd));
  if (unit === 'generation' && generation) return pieces('audio-unit', count, nanosOf(generation.usd));
  const [group, tier = ''] = unit.split('.');
  const price = group === 'durations' && durations && Object.hasOwn(durations, tier) ? durations[tier] : undefined;
  return price === undefined ? null : pieces(`audio-${tier.toLowerCase()}-unit`, count, nanosOf(price.usd));
}

function characterLine(sku: string, characters: number, unitPriceNano: NanoUsd, charactersPerUnit: number) {
  const nanosPerMillion = unitPriceNano * BigInt(1_000_000 / charactersPerUnit);
  return {
    sku,
    units: formatNanos((BigInt(characters) * 1_000_000_000n) / BigInt(charactersPerUnit), 6),
    unitPriceNano,
    amountNano: costPerMillion(characters, nanosPerMillion),
  };
}

function pieces(sku: string, count: number, unitPriceNano: NanoUsd) {
  return {
    sku,
    units: formatNanos(BigInt(count) * 1_000_000_000n),
    unitPriceNano,
    amountNano: unitPriceNano * BigInt(count),
  };
}
