import type { JobUsage, NanoUsd } from '#common';
import { type BillableUnit, priceAt, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * What videos cost, as pure functions: seconds, at the price of the resolution or of the factor. A unit is named by its
 * place in the price list: `per_second`, `resolutions.720p`, `upscale.2x`.
 */

export type VideoUnits = Readonly<Record<string, number>>;

/** Seconds of a video that is made: at the price of its resolution where that has one. */
export function unitsOfMaking(
  pricing: Pricing | null,
  { seconds, resolution }: { seconds: number; resolution: string | null },
): VideoUnits {
  return { [unitOfMaking(pricing, resolution)]: milliseconds(seconds) / 1_000 };
}

/** What seconds of a video that is made are called, in this resolution or in that of its source. */
export function unitOfMaking(pricing: Pricing | null, resolution: string | null): string {
  const own = `resolutions.${resolution}`;
  return resolution !== null && priceAt(pricing, own) !== null ? own : 'per_second';
}

/** Seconds of a video that is upscaled. */
export function unitsOfUpscaling({ seconds, factor }: { seconds: number; factor: number }): VideoUnits {
  return { [unitOfUpscaling(factor)]: milliseconds(seconds) / 1_000 };
}

/** What seconds of a video that is upscaled are called. */
export function unitOfUpscaling(factor: number): string {
  return `upscale.${factor}x`;
}

/** False where a model has prices, and none for this: nobody meant it to be free. */
export function hasPrice(pricing: Pricing | null, unit: string): boolean {
  if (pricing === null) return true;
  const { per_second: perSecond, resolutions = {}, upscale = {} } = pricing;
  const isFree = perSecond === undefined && Object.keys({ ...resolutions, ...upscale }).length === 0;
  return isFree || priceAt(pricing, unit) !== null;
}

/** How long a video is that is billed by these units. */
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
