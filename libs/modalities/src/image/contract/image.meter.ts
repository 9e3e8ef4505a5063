import { type JobUsage, type NanoUsd, nanosOf, PlatformError } from '#common';
import { type BillableUnit, type Price, priceAt, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * Prices of images, as pure functions. A unit is named by its position in the price list: `generation`,
 * `resolutions.2K`, `quality.1K.high`, `upscale.2x`, `inpaint`, `inputImages.additional`; usage has the same names.
 */

export type ImageUnits = Readonly<Record<string, number>>;

/** The price of an image that is turned into text. */
export const descriptionUnit = 'per_image';

/** Rewriting a prompt costs the same for every image model. */
export const enhancementUnit = 'prompt-enhancement';
const enhancementPrice: Price = { usd: 0.04, diem: 0.04 };
export const enhancementNano: NanoUsd = nanosOf(enhancementPrice.usd);

export interface ImageOptions {
  /** `generation` or `inpaint`: the flat price of the route. */
  flat: 'generation' | 'inpaint';
  /** A tier such as `1K`, where the caller or the model names one. */
  resolution: string | null;
  /** Null where the model takes none. */
  quality: string | null;
}

/** Tier of an image if neither the client nor the model names one. */
export const defaultTier = '1K';

/**
 * Returns the position of the price of one image: by quality, else by resolution, else flat. Throws
 * `SERVICE_UNAVAILABLE` when a price list has none of the three: images are free only for models without prices.
 */
export function unitOfImage(pricing: Pricing | null, { flat, resolution, quality }: ImageOptions): string {
  const tier = resolution ?? defaultTier;
  const units = [...(quality === null ? [] : [`quality.${tier}.${quality}`]), `resolutions.${tier}`, flat];
  if (pricing === null) return flat;
  const unit = units.find((path) => priceAt(pricing, path) !== null);
  if (unit === undefined) throw unpriced();
  return unit;
}

/** Members of a job's payload that decide its price. */
export interface ImageUnitsOptions {
  priceOfImage: string;
  extraUnits: Readonly<Record<string, number>>;
  unitsPerImage?: Readonly<Record<string, number>>;
}

/** Counts the images beyond those that an edit includes. */
export function additionalInputs(pricing: Pricing | null, inputs: number): ImageUnits {
  const included = pricing?.inputImages?.included;
  if (included === undefined || inputs <= included) return {};
  return { 'inputImages.additional': inputs - included };
}

/** Returns the units of a job that made a number of images: the worst case of a request, or its usage. */
export function unitsOfImages(
  { extraUnits, unitsPerImage = {}, priceOfImage }: ImageUnitsOptions,
  images: number,
): ImageUnits {
  if (images === 0) return {};
  const units = Object.entries(unitsPerImage).map(([unit, count]) => [unit, count * images] as const);
  return { ...extraUnits, ...Object.fromEntries(units), [priceOfImage]: images };
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

/** An operator error that a retry cannot fix. */
function unpriced(): PlatformError {
  const message = 'The price list of this model has no price for such an image.';
  return new PlatformError('SERVICE_UNAVAILABLE', message, null, { retry: 'never' });
}
