const shortSide = 512;
/** Four times the shorter: beyond any photo. A picture of a few hundred bytes can be thousands of times as long as wide. */
const maxLongSide = 2_048;
const divisor = 32;

/**
 * The size at which MODNet looks at a picture: shorter side 512, less where the longer one would be beyond 2,048; both
 * multiples of 32.
 */
export function modnetSize({ width, height }: { width: number; height: number }): { width: number; height: number } {
  const scale = Math.min(shortSide / Math.min(width, height), maxLongSide / Math.max(width, height));
  const fit = (side: number): number => Math.max(divisor, Math.floor((side * scale) / divisor) * divisor);
  return { width: fit(width), height: fit(height) };
}
