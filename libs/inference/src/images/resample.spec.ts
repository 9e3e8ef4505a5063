import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inSlices } from './in-slices.js';
import type { RgbPixels } from './pixel-grid.js';
import { resample, type ResampleFilter } from './resample.js';

interface Recorded {
  width: number;
  height: number;
  data: string;
}

/** Written by `tools/reference/pillow_resample.py`. */
const known = JSON.parse(readFileSync(new URL('./__fixtures__/resample.json', import.meta.url), 'utf8')) as {
  source: Recorded;
  cases: (Recorded & { filter: ResampleFilter })[];
};

function pixelsOf({ width, height, data }: Recorded): RgbPixels {
  return { width, height, data: Uint8Array.from(Buffer.from(data, 'base64')) };
}

const source = pixelsOf(known.source);

describe('resample', () => {
  for (const recorded of known.cases) {
    const { filter, width, height } = recorded;
    it(`equals Pillow bit by bit: ${filter}, ${width} by ${height}`, async () => {
      expect(await inSlices(resample(source, { filter, width, height }))).toEqual(pixelsOf(recorded));
    });
  }

  it('computes a part of the result as it is in the whole', async () => {
    const size = { filter: 'bicubic', width: 32, height: 41 } as const;
    const whole = await inSlices(resample(source, size));
    const area = { left: 5, top: 11, width: 9, height: 17 };
    const part = await inSlices(resample(source, { ...size, area }));
    const rows = Array.from({ length: area.height }, (_, row) => {
      const start = ((area.top + row) * whole.width + area.left) * 3;
      return [...whole.data.subarray(start, start + area.width * 3)];
    });
    expect(part).toEqual({ width: 9, height: 17, data: Uint8Array.from(rows.flat()) });
  });

  it('lets the event loop turn between two steps', () => {
    const steps = resample(
      { width: 4, height: 400, data: new Uint8Array(4_800) },
      { filter: 'lanczos', width: 2, height: 40 },
    );
    let count = 0;
    while (!steps.next().done) count++;
    expect(count).toBeGreaterThan(20);
  });
});
