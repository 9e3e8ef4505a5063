import type { PixelArea } from './pixel-grid.js';

/** A piece of a picture: what is fed to the model, and the part of it that is kept. */
export interface Tile {
  /** With a margin on every side where there is picture. */
  area: PixelArea;
  /** Without the margin; the kept parts of all tiles cover the picture once. */
  kept: PixelArea;
}

/** Cuts a picture into tiles of at most `size` kept pixels a side, each seen with `margin` pixels around it. */
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
