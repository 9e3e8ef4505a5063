import { formatNanos, type JobUsage, type NanoUsd, nanosOf } from '#common';
import type { Price } from '#model-registry/manifest';

/*
 * What videos cost, as pure functions: seconds, at the price of the resolution or of the factor. A unit is named by its
 * place in the price list: `per_second`, `resolutions.720p`, `upscale.2x`.
 */

/** What a manifest of type `video` calls its prices, per second. It is never published. */
export interface VideoPricing {
  per_second?: Price;
  resolutions?: Record<string, Price>;
  upscale?: Record<string, Price>;
}

export type VideoUnits = Readonly<Record<string, number>>;

/** Seconds of a video that is made: at the price of its resolution where that has one. */
export function unitsOfMaking(
  pricing: VideoPricing | null,
  { seconds, resolution }: { seconds: number; resolution: string | null },
): VideoUnits {
  return { [unitOfMaking(pricing, resolution)]: milliseconds(seconds) / 1_000 };
}

/** What seconds of a video that is made are called, in this resolution or in that of its source. */
export function unitOfMaking(pricing: VideoPricing | null, resolution: string | null): string {
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
export function hasPrice(pricing: VideoPricing | null, unit: string): boolean {
  if (pricing === null) return true;
  const { per_second: perSecond, resolutions = {}, upscale = {} } = pricing;
  const isFree = perSecond === undefined && Object.keys({ ...resolutions, ...upscale }).length === 0;
  return isFree || priceAt(pricing, unit) !== null;
}

/** How long a video is that is billed by these units. */
export function secondsBilled(units: VideoUnits): number {
  return Object.values(units).reduce((sum, seconds) => sum + seconds, 0);
}

/** The price of a job: exactly what `videoChargeLines` bills for the same units. */
export function quoteVideo(units: VideoUnits, pricing: VideoPricing | null): NanoUsd {
  return lines('', units, pricing).reduce((sum, { amountNano }) => sum + amountNano, 0n);
}

/** The positions of a charge; what has no price is free (`hasPrice` refuses it before), and a job that brought nothing used nothing. */
export function videoChargeLines(
  modelId: string,
  usage: JobUsage,
  pricing: VideoPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  return lines(modelId, usage.units ?? {}, pricing);
}

function lines(modelId: string, units: VideoUnits, pricing: VideoPricing | null) {
  return Object.entries(units).flatMap(([unit, seconds]) => {
    const price = priceAt(pricing, unit);
    if (price === null || seconds === 0) return [];
    const unitPriceNano = nanosOf(price.usd);
    const part = unit === 'per_second' ? '' : `${unit.replaceAll('.', '-').toLowerCase()}-`;
    return [
      {
        sku: `${modelId}-video-${part}second`,
        units: formatNanos(BigInt(milliseconds(seconds)) * 1_000_000n, 3),
        unitPriceNano,
        amountNano: (BigInt(milliseconds(seconds)) * unitPriceNano + 500n) / 1_000n,
      },
    ];
  });
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000);
}

function priceAt(pricing: VideoPricing | null, place: string): Price | null {
  if (place === 'per_second') return pricing?.per_second ?? null;
  const [group, name = ''] = place.split('.');
  const prices = group === 'upscale' ? pricing?.upscale : group === 'resolutions' ? pricing?.resolutions : undefined;
  return prices !== undefined && Object.hasOwn(prices, name) ? (prices[name] ?? null) : null;
}
