const shortSide = 512;
/**
 * Four times the shorter side, longer than any photo. An image file of a few hundred bytes can be thousands of times as
 * long as wide.
 */
const maxLongSide = 2_048;
const divisor = 32;

/**
 * Returns the size at which MODNet processes an image. The shorter side is 512, or less where the longer one would
 * exceed 2,048; both are multiples of 32.
 */
export function modnetSize({ width, height }: { width: number; height: number }): { width: number; height: number } {
  const scale = Math.min(shortSide / Math.min(width, height), maxLongSide / Math.max(width, height));
  const fit = (side: number): number => Math.max(divisor, Math.floor((side * scale) / divisor) * divisor);
  return { width: fit(width), height: fit(height) };
}
