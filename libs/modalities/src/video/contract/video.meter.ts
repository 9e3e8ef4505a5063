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
  const hasOwn = resolution !== null && pricing?.resolutions?.[resolution] !== undefined;
  return { [hasOwn ? `resolutions.${resolution}` : 'per_second']: milliseconds(seconds) / 1_000 };
}

/** Seconds of a video that is upscaled. */
export function unitsOfUpscaling({ seconds, factor }: { seconds: number; factor: number }): VideoUnits {
  return { [`upscale.${factor}x`]: milliseconds(seconds) / 1_000 };
}

/** How long a video is that is billed by these units. */
export function secondsBilled(units: VideoUnits): number {
  return Object.values(units).reduce((sum, seconds) => sum + seconds, 0);
}

/** The price of a job: exactly what `videoChargeLines` bills for the same units. */
export function quoteVideo(units: VideoUnits, pricing: VideoPricing | null): NanoUsd {
  return lines('', units, pricing).reduce((sum, { amountNano }) => sum + amountNano, 0n);
}

/** The positions of a charge; what has no price is free, and a job that brought nothing used nothing. */
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
