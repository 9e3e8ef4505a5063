import { describe, expect, it } from 'vitest';
import fixture from './__fixtures__/resize.json' with { type: 'json' };
import { resizePlanes, samplePlanes } from './resize.js';

const source = { channels: 1, ...fixture.source, data: Float32Array.from(fixture.source.data) };

describe('resizing', () => {
  it.each(fixture.cases.map((wanted) => [`${wanted.width} by ${wanted.height}`, wanted] as const))(
    'matches the reference: %s',
    (_, { width, height, data }) => {
      const resized = resizePlanes(source, width, height);
      expect(resized).toMatchObject({ channels: 1, width, height });
      resized.data.forEach((value, index) => expect(value).toBeCloseTo(data[index] ?? NaN, 2));
    },
  );

  it('never uses more intermediate memory than both images, however thin one is', () => {
    const tall = { channels: 1, width: 1, height: 4_000_000, data: new Float32Array(4_000_000).fill(7) };
    // Resizing columns first would need 4,000,000 rows of 1,000,000 floats.
    const wide = resizePlanes(tall, 1_000_000, 1);
    expect([wide.width, wide.height, wide.data.length]).toEqual([1_000_000, 1, 1_000_000]);
    for (const position of [0, 500_000, 999_999]) expect(wide.data[position]).toBeCloseTo(7, 1);
  });

  it('keeps the planes separate', () => {
    const image = { width: 2, height: 1, data: Uint8Array.of(10, 20, 30, 10, 20, 30) };
    expect([...resizePlanes(samplePlanes(image), 3, 2).data]).toEqual([
      ...new Array<number>(6).fill(10),
      ...new Array<number>(6).fill(20),
      ...new Array<number>(6).fill(30),
    ]);
  });
});
