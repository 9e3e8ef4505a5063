import type { JobUsage, NanoUsd } from '#common';
import { type BillableUnit, priceAt, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * Prices of video, as pure functions: seconds, at the price of the resolution or of the factor. A unit is named by its
 * position in the price list: `per_second`, `resolutions.720p`, `upscale.2x`.
 */

export type VideoUnits = Readonly<Record<string, number>>;

/** Returns the seconds of a generated video, at the price of its resolution where there is one. */
export function unitsOfMaking(
  pricing: Pricing | null,
  { seconds, resolution }: { seconds: number; resolution: string | null },
): VideoUnits {
  return { [unitOfMaking(pricing, resolution)]: milliseconds(seconds) / 1_000 };
}

/** Returns the unit name for seconds of a generated video, in this resolution or in that of its source. */
export function unitOfMaking(pricing: Pricing | null, resolution: string | null): string {
  const exactKey = `resolutions.${resolution}`;
  return resolution !== null && priceAt(pricing, exactKey) !== null ? exactKey : 'per_second';
}

/** Returns the seconds of an upscaled video. */
export function unitsOfUpscaling({ seconds, factor }: { seconds: number; factor: number }): VideoUnits {
  return { [unitOfUpscaling(factor)]: milliseconds(seconds) / 1_000 };
}

/** Returns the unit name for seconds of an upscaled video. */
export function unitOfUpscaling(factor: number): string {
  return `upscale.${factor}x`;
}

/** False when a model has prices, but none for this: it is not meant to be free. */
export function hasPrice(pricing: Pricing | null, unit: string): boolean {
  if (pricing === null) return true;
  const { per_second: perSecond, resolutions = {}, upscale = {} } = pricing;
  const isFree = perSecond === undefined && Object.keys({ ...resolutions, ...upscale }).length === 0;
  return isFree || priceAt(pricing, unit) !== null;
}

/** Returns the length of a video that these units bill. */
export function secondsBilled(units: VideoUnits): number {
  return Object.values(units).reduce((sum, seconds) => sum + seconds, 0);
}

/** The price of a job: exactly what is billed for the same units. */
export function quoteVideo(units: VideoUnits, pricing: Pricing | null): NanoUsd {
  return quoteUnits(billable(units), pricing);
}

/** What a job is charged for; what has no price is free (`hasPrice` refuses it before). */
export function videoUnits({ units = {} }: JobUsage): BillableUnit[] {
  return billable(units);
}

function billable(units: VideoUnits): BillableUnit[] {
  return Object.entries(units)
    .filter(([, seconds]) => seconds !== 0)
    .map(([unit, seconds]) => ({
      sku: unit === 'per_second' ? 'video-second' : `video-${unit.replaceAll('.', '-').toLowerCase()}-second`,
      price: unit,
      measure: 'second',
      count: milliseconds(seconds),
    }));
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}
