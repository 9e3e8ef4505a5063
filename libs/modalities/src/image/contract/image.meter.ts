import { type JobUsage, type NanoUsd, nanosOf, PlatformError } from '#common';
import { type BillableUnit, type Price, priceAt, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * What pictures cost, as pure functions. A unit is named by its place in the price list: `generation`, `resolutions.2K`,
 * `quality.1K.high`, `upscale.2x`, `inpaint`, `inputImages.additional`; what is used carries the same names.
 */

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
export function unitOfImage(pricing: Pricing | null, { flat, resolution, quality }: ImageOptions): string {
  const tier = resolution ?? usualTier;
  const units = [...(quality === null ? [] : [`quality.${tier}.${quality}`]), `resolutions.${tier}`, flat];
  if (pricing === null) return flat;
  const unit = units.find((path) => priceAt(pricing, path) !== null);
  if (unit === undefined) throw unpriced();
  return unit;
}

/** Pictures beyond those that an edit includes. */
export function additionalInputs(pricing: Pricing | null, inputs: number): ImageUnits {
  const included = pricing?.inputImages?.included;
  if (included === undefined || inputs <= included) return {};
  return { 'inputImages.additional': inputs - included };
}

/** The worst case of a request. Throws `SERVICE_UNAVAILABLE` for a unit that a price list leaves out. */
export function quoteImages(units: ImageUnits, pricing: Pricing | null): NanoUsd {
  if (pricing !== null && Object.keys(units).some((unit) => !isPriced(unit, pricing))) throw unpriced();
  return quoteUnits(billable(units), pricing);
}

/** What a job is charged for. */
export function imageUnits({ units = {} }: JobUsage): BillableUnit[] {
  return billable(units);
}

function billable(units: ImageUnits): BillableUnit[] {
  return Object.entries(units)
    .filter(([, count]) => count !== 0)
    .map(([unit, count]) => ({
      sku: `image-${unit.replaceAll('.', '-').toLowerCase()}`,
      price: unit === enhancementUnit ? enhancementPrice : unit,
      measure: 'piece',
      count,
    }));
}

function isPriced(unit: string, pricing: Pricing): boolean {
  return unit === enhancementUnit || priceAt(pricing, unit) !== null;
}

/** The operator's fault, which no repetition heals. */
function unpriced(): PlatformError {
  const message = 'The price list of this model has no price for such a picture.';
  return new PlatformError('SERVICE_UNAVAILABLE', message, null, { retry: 'never' });
}
