import type { RgbPixels } from '#inference/tasks';

const squarePixels = 8;

/** Draws a bright disc with a fine checkered pattern on a gradient, for cutout, upscaling and inpainting. */
export function checkeredDisc(side: number): RgbPixels {
  const data = new Uint8Array(side * side * 3);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const isDisc = Math.hypot(x - side / 2, y - side / 2) < side / 3;
      const isDark = (Math.floor(x / squarePixels) + Math.floor(y / squarePixels)) % 2 === 0;
      const sky = 220 - Math.round((120 * y) / side);
      data.set(isDisc ? [230, isDark ? 60 : 200, 30] : [sky - 60, sky - 20, sky], (y * side + x) * 3);
    }
  }
  return { width: side, height: side, data };
}

/** Mask of a square with a quarter of the side; 1 marks pixels to fill. */
export function centerMask(side: number): Uint8Array {
  const isWithin = (at: number): boolean => Math.abs(at - side / 2) < side / 8;
  return Uint8Array.from({ length: side * side }, (_, pixel) =>
    isWithin(pixel % side) && isWithin(Math.floor(pixel / side)) ? 1 : 0,
  );
}
