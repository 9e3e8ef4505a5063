import type { PixelArea } from './pixel-grid.js';

/** Tile of an image: the model's input area, and the part of the result that is used. */
export interface Tile {
  /** With a margin on every side where the image continues. */
  area: PixelArea;
  /** Without the margin; these areas cover the image exactly once. */
  kept: PixelArea;
}

/** Splits an image into tiles of at most `size` pixels a side, plus `margin` pixels around each. */
export function* tilesOf(
  image: { width: number; height: number },
  { size, margin }: { size: number; margin: number },
): Generator<Tile> {
  for (let top = 0; top < image.height; top += size) {
    for (let left = 0; left < image.width; left += size) {
      const kept = {
        left,
        top,
        width: Math.min(size, image.width - left),
        height: Math.min(size, image.height - top),
      };
      const area = {
        left: Math.max(0, left - margin),
        top: Math.max(0, top - margin),
        width: Math.min(image.width, left + kept.width + margin) - Math.max(0, left - margin),
        height: Math.min(image.height, top + kept.height + margin) - Math.max(0, top - margin),
      };
      yield { area, kept };
    }
  }
}
