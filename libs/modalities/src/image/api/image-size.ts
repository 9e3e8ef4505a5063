import { PlatformError } from '#common';
import { longestImageSide, readImageTier } from '#model-registry/manifest';

/** In pixels, or of a shape alone: 16 and 9. */
export interface ImageSize {
  width: number;
  height: number;
}

/** Side of a picture for which nobody names one, in pixels; that of the tier `1K`. */
export const usualSide = 1_024;

/** Pixels along the longer side of a tier. Throws `INVALID_REQUEST` for a name that means no size. */
export function sideOfTier(tier: string): number {
  const side = readImageTier(tier);
  if (side !== null) return side;
  throw invalid('resolution', `resolution ${JSON.stringify(tier)} means no size; 1K, 2K or 720p do.`);
}

/** The smallest of a model's tiers that holds a picture; its largest where none does, null where it has none. */
export function tierOfSize({ width, height }: ImageSize, tiers: readonly string[]): string | null {
  const known = tiers
    .map((name) => ({ name, side: readImageTier(name) ?? 0 }))
    .filter(({ side }) => side > 0)
    .toSorted((left, right) => left.side - right.side);
  return (known.find(({ side }) => side ** 2 >= width * height) ?? known.at(-1))?.name ?? null;
}

/** `16:9` as a shape. Null for what is no ratio. */
export function readShape(ratio: string): ImageSize | null {
  const [, across, down] = /^(\d{1,4}(?:\.\d{1,4})?):(\d{1,4}(?:\.\d{1,4})?)$/.exec(ratio) ?? [];
  const shape = { width: Number(across), height: Number(down) };
  return shape.width > 0 && shape.height > 0 ? shape : null;
}

/** A shape whose longer side has so many pixels; sides are rounded to the divisor. */
export function sizeOfSide({ width, height }: ImageSize, { side, divisor }: { side: number; divisor: number }) {
  const fit = (share: number): number => Math.max(divisor, Math.round((side * share) / divisor) * divisor);
  return { width: fit(Math.min(1, width / height)), height: fit(Math.min(1, height / width)) };
}

/** A shape of about so many pixels in all, and hardly more: sides are cut to the divisor. */
export function sizeOfPixels(
  { width, height }: ImageSize,
  { pixels, divisor }: { pixels: number; divisor: number },
): ImageSize {
  const scale = Math.sqrt(pixels / (width * height));
  // A side that comes out at a whole number but for the last bit of a float is that number.
  const cut = (side: number): number => Math.floor(side / divisor + 1e-9) * divisor;
  const fit = (side: number): number => Math.min(longestImageSide, Math.max(divisor, cut(side)));
  // A thin side is raised to the divisor, at the cost of the other one.
  const across = fit(Math.min(width, height) * scale);
  const along = fit(Math.min(Math.max(width, height) * scale, pixels / across));
  return width < height ? { width: across, height: along } : { width: along, height: across };
}

/** Of some ratios the one whose shape is nearest; null where there is none. */
export function nearestRatio({ width, height }: ImageSize, ratios: readonly string[]): string | null {
  const distanceTo = (shape: ImageSize): number => Math.abs(Math.log((shape.width / shape.height) * (height / width)));
  const shaped = ratios.flatMap((ratio) => {
    const shape = readShape(ratio);
    return shape === null ? [] : [{ ratio, distance: distanceTo(shape) }];
  });
  return shaped.toSorted((left, right) => left.distance - right.distance)[0]?.ratio ?? null;
}

/** The 400 for a field. */
export function invalid(param: string, message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, param);
}
