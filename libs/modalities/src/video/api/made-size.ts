import { type FrameSize, sizeOfShortSide } from '#media';

/** Maximum side of a generated video, in pixels. */
const maxSide = 4_096;

/** Resolutions whose name is not their short side. */
const shortSides: Readonly<Record<string, number>> = { '2k': 1_440, '4k': 2_160, true_1080p: 1_080 };

/** Returns the short side of a resolution in pixels; null if its name contains none. */
export function shortSideOf(resolution: string | null): number | null {
  const name = resolution?.toLowerCase() ?? '';
  const [, digits] = /^(\d+)p$/.exec(name) ?? [];
  return digits === undefined ? (shortSides[name] ?? null) : Number(digits);
}

/** Returns the size of a shape whose short side is about `short` pixels, in multiples of `divisor`. */
export function madeSize(shape: FrameSize, { short, divisor }: { short: number; divisor: number }): FrameSize {
  return sizeOfShortSide(shape, { side: short, divisor, maxSide });
}
