import { describe, expect, it } from 'vitest';
import fixture from './__fixtures__/resize.json' with { type: 'json' };
import { resizePlanes, samplePlanes } from './resize.js';

const source = { channels: 1, ...fixture.source, data: Float32Array.from(fixture.source.data) };

describe('resizing', () => {
  it.each(fixture.cases.map((wanted) => [`${wanted.width} by ${wanted.height}`, wanted] as const))(
    'gives what the reference gives: %s',
    (_, { width, height, data }) => {
      const resized = resizePlanes(source, width, height);
      expect(resized).toMatchObject({ channels: 1, width, height });
      resized.data.forEach((value, index) => expect(value).toBeCloseTo(data[index] ?? NaN, 2));
    },
  );

  it('keeps planes apart', () => {
    const picture = { width: 2, height: 1, data: Uint8Array.of(10, 20, 30, 10, 20, 30) };
    expect([...resizePlanes(samplePlanes(picture), 3, 2).data]).toEqual([
      ...new Array<number>(6).fill(10),
      ...new Array<number>(6).fill(20),
      ...new Array<number>(6).fill(30),
    ]);
  });
});
