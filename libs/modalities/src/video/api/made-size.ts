/** Maximum side of a generated video, in pixels. */
const maxMadeSide = 4_096;

/** Resolutions whose name is not their short side. */
const shortSides: Readonly<Record<string, number>> = { '2k': 1_440, '4k': 2_160, true_1080p: 1_080 };

/** Returns the short side of a resolution in pixels; null if its name contains none. */
export function shortSideOf(resolution: string): number | null {
  const name = resolution.toLowerCase();
  const [, digits] = /^(\d+)p$/.exec(name) ?? [];
  return digits === undefined ? (shortSides[name] ?? null) : Number(digits);
}

/** Returns width over height of a ratio such as `16:9`; null if the model decides. */
export function shapeOf(ratio: string): number | null {
  const [, width, height] = /^(\d+):(\d+)$/.exec(ratio) ?? [];
  return width === undefined || height === undefined ? null : Number(width) / Number(height);
}

/**
 * Returns the size of a shape whose short side is about `short` pixels. Both sides are multiples of `divisor`, as the
 * model's network requires.
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
