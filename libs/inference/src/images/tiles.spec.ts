import { describe, expect, it } from 'vitest';
import { emptyImage, planesOf, wholeArea, writePlanes } from './pixel-grid.js';
import { tilesOf } from './tiles.js';

describe('tiles', () => {
  it.each([
    [1, 1],
    [10, 10],
    [11, 10],
    [37, 25],
  ])('cover every pixel of %i by %i once, with a margin wherever the image continues', (width, height) => {
    const kept = new Uint8Array(width * height);
    for (const tile of tilesOf({ width, height }, { size: 10, margin: 3 })) {
      for (let y = tile.kept.top; y < tile.kept.top + tile.kept.height; y++) {
        for (let x = tile.kept.left; x < tile.kept.left + tile.kept.width; x++) kept[y * width + x]!++;
      }
      expect(tile.area.left).toBe(Math.max(0, tile.kept.left - 3));
      expect(tile.area.left + tile.area.width).toBe(Math.min(width, tile.kept.left + tile.kept.width + 3));
      expect(tile.area.top).toBe(Math.max(0, tile.kept.top - 3));
      expect(tile.area.top + tile.area.height).toBe(Math.min(height, tile.kept.top + tile.kept.height + 3));
    }
    expect(kept.every((times) => times === 1)).toBe(true);
  });

  it('reassemble to the image they were cut from', () => {
    const image = emptyImage(23, 17);
    image.data.forEach((_, index) => (image.data[index] = (index * 31) % 256));
    const copy = emptyImage(23, 17);
    for (const { area, kept } of tilesOf(image, { size: 8, margin: 2 })) {
      const data = planesOf(image, area, (sample) => sample / 255);
      const inner = { ...kept, left: kept.left - area.left, top: kept.top - area.top };
      writePlanes({ data, width: area.width, height: area.height }, inner, {
        pixels: copy,
        left: kept.left,
        top: kept.top,
      });
    }
    expect(copy).toEqual(image);
  });

  it('clamp values beyond black and white', () => {
    const pixels = emptyImage(2, 1);
    const data = Float32Array.of(-0.5, 1.5, 0.5, 0, NaN, 1);
    writePlanes({ data, width: 2, height: 1 }, wholeArea(pixels), { pixels, left: 0, top: 0 });
    expect([...pixels.data]).toEqual([0, 128, 0, 255, 0, 255]);
  });
});
