import { invalidField } from '#gateway';
import type { FrameSize } from '#media';
import { readImageTier } from '#model-registry/manifest';

/** Default side of an image in pixels: that of the tier `1K`. */
export const defaultSide = 1_024;

/** Pixels of the longer side of a tier. Throws `INVALID_REQUEST` for a name without a size. */
export function sideOfTier(tier: string): number {
  const side = readImageTier(tier);
  if (side !== null) return side;
  throw invalidField(`resolution ${JSON.stringify(tier)} means no size; 1K, 2K or 720p do.`, 'resolution');
}

/** Returns the smallest of a model's tiers that contains an image, otherwise its largest; null without tiers. */
export function tierOfSize({ width, height }: FrameSize, tiers: readonly string[]): string | null {
  const known = tiers
    .map((name) => ({ name, side: readImageTier(name) ?? 0 }))
    .filter(({ side }) => side > 0)
    .toSorted((left, right) => left.side - right.side);
  return (known.find(({ side }) => side ** 2 >= width * height) ?? known.at(-1))?.name ?? null;
}
