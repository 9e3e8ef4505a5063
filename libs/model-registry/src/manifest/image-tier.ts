/** Longest side of a job's image, in pixels. */
export const longestImageSide = 8_192;
const shortestSide = 64;

/**
 * Returns the pixels along the longer side of a tier: `1K` is 1024, `1.5K` 1536, `720` and `720p` are 720. Null for
 * other names.
 */
export function readImageTier(tier: string): number | null {
  const [, thousands] = /^(\d(?:\.\d{1,2})?)k$/i.exec(tier) ?? [];
  const [, pixels] = /^(\d{2,4})(?:px?)?$/i.exec(tier) ?? [];
  const side = thousands === undefined ? Number(pixels ?? NaN) : Math.round(Number(thousands) * 1_024);
  return side >= shortestSide && side <= longestImageSide ? side : null;
}
