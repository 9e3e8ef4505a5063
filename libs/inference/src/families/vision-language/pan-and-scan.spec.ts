import { describe, expect, it } from 'vitest';
import { cropsOf, panAndScanOf } from './pan-and-scan.js';

const settings = { minCropSide: 32, maxCrops: 3, minRatio: 1.2 };

describe('pan and scan', () => {
  it('is off unless the files turn it on', () => {
    expect(panAndScanOf({})).toBeNull();
    expect(panAndScanOf({ do_pan_and_scan: null })).toBeNull();
    expect(panAndScanOf({ do_pan_and_scan: false, pan_and_scan_max_num_crops: 4 })).toBeNull();
  });

  it('has the defaults of transformers where the files have no values', () => {
    const found = panAndScanOf({ do_pan_and_scan: true, pan_and_scan_max_num_crops: null });
    expect(found).toEqual({ minCropSide: 256, maxCrops: 4, minRatio: 1.2 });
  });

  it.each([
    ['is nearly square', { width: 119, height: 100 }],
    ['has crops that are too narrow', { width: 60, height: 40 }],
    ['is too flat', { width: 400, height: 31 }],
  ])('has no crops of an image that %s', (_, size) => {
    expect(cropsOf(size, settings)).toEqual([]);
  });

  it('cuts the longer side, and the last crop may be shorter', () => {
    expect(cropsOf({ width: 301, height: 100 }, settings)).toEqual([
      { left: 0, top: 0, width: 101, height: 100 },
      { left: 101, top: 0, width: 101, height: 100 },
      { left: 202, top: 0, width: 99, height: 100 },
    ]);
    expect(cropsOf({ width: 67, height: 131 }, settings)).toEqual([
      { left: 0, top: 0, width: 67, height: 66 },
      { left: 0, top: 66, width: 67, height: 65 },
    ]);
  });

  it('has as many crops as the sides say, within the limits', () => {
    const countOf = (width: number, height: number) => cropsOf({ width, height }, settings).length;
    expect([countOf(120, 100), countOf(249, 100), countOf(250, 100), countOf(900, 100)]).toEqual([2, 2, 3, 3]);
    expect(cropsOf({ width: 300, height: 100 }, { ...settings, minCropSide: 101 })).toEqual([]);
  });

  it('has no empty crop', () => {
    const crops = cropsOf({ width: 16, height: 3 }, { minCropSide: 1, maxCrops: 8, minRatio: 1 });
    expect(crops.map(({ left, width }) => [left, width])).toEqual([
      [0, 4],
      [4, 4],
      [8, 4],
      [12, 4],
    ]);
  });
});
