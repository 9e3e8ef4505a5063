import { formatNanos, type JobUsage, type NanoUsd, nanosOf, PlatformError } from '#common';
import type { Price } from '#model-registry/manifest';

/*
 * What pictures cost, as pure functions. A unit is named by its place in the price list: `generation`, `resolutions.2K`,
 * `quality.1K.high`, `upscale.2x`, `inpaint`, `inputImages.additional`; what is used carries the same names.
 */

/** What manifests of types image, upscale and inpaint call their prices. */
export interface ImageJobPricing {
  generation?: Price;
  inpaint?: Price;
  resolutions?: Record<string, Price>;
  quality?: Record<string, Record<string, Price | undefined>>;
  upscale?: Record<string, Price>;
  inputImages?: { included: number; additional: Price };
}

export type ImageUnits = Readonly<Record<string, number>>;

/** Rewriting a prompt costs the same whatever model makes the picture of it (contract 5.7). */
export const enhancementUnit = 'prompt-enhancement';
const enhancementPrice: Price = { usd: 0.04, diem: 0.04 };
export const enhancementNano: NanoUsd = nanosOf(enhancementPrice.usd);

export interface ImageOptions {
  /** `generation` or `inpaint`: the flat price of the route. */
  flat: 'generation' | 'inpaint';
  /** Tier such as `1K`, where the caller or the model names one. */
  resolution: string | null;
  /** Null where the model takes none. */
  quality: string | null;
}

/** Tier of a picture for which neither the caller nor the model names one (contract 5.5). */
export const usualTier = '1K';

/**
 * Where the price of one picture stands: by quality, else by resolution, else flat (contract 5.7). Throws
 * `SERVICE_UNAVAILABLE` where a price list has none of the three: pictures are free only for models without prices.
 */
export function unitOfImage(pricing: ImageJobPricing | null, { flat, resolution, quality }: ImageOptions): string {
  const tier = resolution ?? usualTier;
  const units = [...(quality === null ? [] : [`quality.${tier}.${quality}`]), `resolutions.${tier}`, flat];
  if (pricing === null) return flat;
  const unit = units.find((place) => priceAt(pricing, place) !== null);
  if (unit === undefined) throw unpriced();
  return unit;
}

/** Pictures beyond those that an edit includes. */
export function additionalInputs(pricing: ImageJobPricing | null, inputs: number): ImageUnits {
  const included = pricing?.inputImages?.included;
  if (included === undefined || inputs <= included) return {};
  return { 'inputImages.additional': inputs - included };
}

/**
 * The worst case of a request: what `pictureChargeLines` bills for the same units. Throws `SERVICE_UNAVAILABLE` for a
 * unit that a price list leaves out.
 */
export function quoteImages(units: ImageUnits, pricing: ImageJobPricing | null): NanoUsd {
  if (pricing !== null && Object.keys(units).some((unit) => priceOf(unit, pricing) === null)) throw unpriced();
  return imageLines('', units, pricing).reduce((sum, { amountNano }) => sum + amountNano, 0n);
}

/** The positions of a charge; what was quoted has its price, and of a model without prices all is free. */
export function imageChargeLines(
  modelId: string,
  usage: JobUsage,
  pricing: ImageJobPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  return imageLines(modelId, usage.units ?? {}, pricing);
}

function imageLines(modelId: string, units: ImageUnits, pricing: ImageJobPricing | null) {
  return Object.entries(units).flatMap(([unit, count]) => {
    const price = priceOf(unit, pricing);
    if (price === null || count === 0) return [];
    const unitPriceNano = nanosOf(price.usd);
    return [
      {
        sku: `${modelId}-image-${unit.replaceAll('.', '-').toLowerCase()}`,
        units: formatNanos(BigInt(count) * 1_000_000_000n),
        unitPriceNano,
        amountNano: unitPriceNano * BigInt(count),
      },
    ];
  });
}

function priceOf(unit: string, pricing: ImageJobPricing | null): Price | null {
  return unit === enhancementUnit ? enhancementPrice : priceAt(pricing, unit);
}

/** `quality.1.5K.high`: a tier may hold a dot. */
const qualityPlace = /^(quality)\.(.+)\.([^.]+)$/;
const tierPlace = /^([^.]+)\.(.+)$/;

function priceAt(pricing: ImageJobPricing | null, place: string): Price | null {
  const [, ...names] = qualityPlace.exec(place) ?? tierPlace.exec(place) ?? [place, place];
  let found: unknown = pricing;
  for (const name of names) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return null;
    found = (found as Record<string, unknown>)[name];
  }
  return (found as Price | undefined) ?? null;
}

/** The operator's fault, which no repetition heals. */
function unpriced(): PlatformError {
  const message = 'The price list of this model has no price for such a picture.';
  return new PlatformError('SERVICE_UNAVAILABLE', message, null, { retry: 'never' });
}
