/** Longest side of what is made, in pixels. */
const maxMadeSide = 4_096;

/** Resolutions whose name is not their short side. */
const shortSides: Readonly<Record<string, number>> = { '2k': 1_440, '4k': 2_160, true_1080p: 1_080 };

/** The short side that a resolution means, in pixels; null for one that names none. */
export function shortSideOf(resolution: string): number | null {
  const name = resolution.toLowerCase();
  const [, digits] = /^(\d+)p$/.exec(name) ?? [];
  return digits === undefined ? (shortSides[name] ?? null) : Number(digits);
}

/** Width over height of `16:9`; null for one that is left to the model. */
export function shapeOf(ratio: string): number | null {
  const [, width, height] = /^(\d+):(\d+)$/.exec(ratio) ?? [];
  return width === undefined || height === undefined ? null : Number(width) / Number(height);
}

/**
 * The size of a video of a shape whose short side is about `short` pixels: both sides are multiples of `divisor`, which
 * the model's network asks for.
 */
export function madeSize({ shape, short, divisor }: { shape: number; short: number; divisor: number }): {
  width: number;
  height: number;
} {
  const [width, height] = shape >= 1 ? [short * shape, short] : [short, short / shape];
  const scale = Math.min(1, maxMadeSide / Math.max(width, height));
  const fitting = (side: number): number => Math.max(divisor, Math.round((side * scale) / divisor) * divisor);
  return { width: fitting(width), height: fitting(height) };
}
