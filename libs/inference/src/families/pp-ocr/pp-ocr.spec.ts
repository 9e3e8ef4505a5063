import { describe, expect, it } from 'vitest';
import { cutLine, sizeOfLine, upsideDown } from './cut-line.js';
import { inReadingOrder } from './reading-order.js';
import { findTextBoxes, type TextMap } from './text-boxes.js';
import { characterSet, readCharacters } from './text-characters.js';

/** A map with a bar of text, turned around its middle. */
function barMap({ angle = 0, length = 60, thickness = 10, probability = 0.9 } = {}): TextMap {
  const [width, height] = [120, 100];
  const data = new Float32Array(width * height);
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [dx, dy] = [x - 60, y - 50];
      const isInside =
        Math.abs(dx * cosine + dy * sine) <= length / 2 && Math.abs(dy * cosine - dx * sine) <= thickness / 2;
      if (isInside) data[y * width + x] = probability;
    }
  }
  return { width, height, data };
}

describe('boxes of text', () => {
  it('surround an area and grow by one and a half times area over perimeter', () => {
    const [box, ...others] = findTextBoxes(barMap());
    expect(others).toEqual([]);
    // 60 by 10 grows by 600 · 1.5 / 140 on each side.
    const grown = (60 * 10 * 1.5) / 140;
    const [topLeft, topRight, bottomRight, bottomLeft] = box?.corners ?? [];
    expect(topLeft?.x).toBeCloseTo(30 - grown, 4);
    expect(topLeft?.y).toBeCloseTo(45 - grown, 4);
    expect(bottomRight?.x).toBeCloseTo(90 + grown, 4);
    expect(bottomRight?.y).toBeCloseTo(55 + grown, 4);
    expect([topRight?.y, bottomLeft?.x]).toEqual([topLeft?.y, topLeft?.x]);
    expect(box?.score).toBeCloseTo(0.9, 5);
  });

  it('follow text at an angle', () => {
    const angle = Math.PI / 6;
    const [box] = findTextBoxes(barMap({ angle, length: 80 }));
    const [topLeft, topRight] = box?.corners ?? [];
    const found = Math.atan2((topRight?.y ?? 0) - (topLeft?.y ?? 0), (topRight?.x ?? 0) - (topLeft?.x ?? 0));
    expect(found).toBeCloseTo(angle, 1);
  });

  it('leave out what is uncertain or tiny', () => {
    expect(findTextBoxes(barMap({ probability: 0.5 }))).toEqual([]);
    expect(findTextBoxes(barMap({ thickness: 1 }))).toEqual([]);
    expect(findTextBoxes({ width: 4, height: 4, data: new Float32Array(16) })).toEqual([]);
  });

  it('are read in rows from the top, each from the left', () => {
    const box = (name: string, x: number, y: number) => ({
      name,
      corners: [
        { x, y },
        { x: x + 10, y },
        { x: x + 10, y: y + 10 },
        { x, y: y + 10 },
      ],
    });
    const rows = inReadingOrder([box('d', 0, 40), box('b', 50, 3), box('a', 0, 0), box('c', 20, 20)]);
    expect(rows.map((row) => row.map(({ name }) => name))).toEqual([['a', 'b'], ['c'], ['d']]);
  });
});

describe('lines', () => {
  /** 4 by 2 pixels, of which each has its own red. */
  const image = { width: 4, height: 2, data: Uint8Array.from({ length: 24 }, (_, at) => (at % 3 === 0 ? at * 4 : 0)) };
  const whole = [
    { x: 0, y: 0 },
    { x: 4, y: 0 },
    { x: 4, y: 2 },
    { x: 0, y: 2 },
  ] as const;
  const reds = ({ data }: { data: Uint8Array }): number[] => [...data].filter((_, at) => at % 3 === 0);

  it('are cut out pixel by pixel at their own size', () => {
    expect(reds(cutLine(image, whole, { width: 4, height: 2 }))).toEqual(reds(image));
  });

  it('that run downwards are turned', () => {
    const tall = { width: 2, height: 4, data: image.data };
    const corners = [
      { x: 0, y: 0 },
      { x: 2, y: 0 },
      { x: 2, y: 4 },
      { x: 0, y: 4 },
    ] as const;
    expect(sizeOfLine(corners)).toEqual({ width: 4, height: 2, isUpright: true });
    const [a, b, c, d, e, f, g, h] = reds(image);
    // The right column becomes the first row.
    expect(reds(cutLine(tall, corners, { width: 4, height: 2 }))).toEqual([b, d, f, h, a, c, e, g]);
  });

  it('can be turned by half', () => {
    expect(reds(upsideDown(image))).toEqual(reds(image).toReversed());
  });
});

describe('characters', () => {
  const characters = characterSet('a\nb\n');
  /** One list of probabilities per step: none, a, b, space. */
  const read = (...steps: number[][]) => readCharacters(Float32Array.from(steps.flat()), characters);
  const [none, a, b] = [
    [1, 0, 0, 0],
    [0, 0.75, 0.25, 0],
    [0, 0, 1, 0],
  ] as const;

  it('are those of the file between none and the space', () => {
    expect(characters).toEqual(['', 'a', 'b', ' ']);
  });

  it('are read once as long as they last, and again after none', () => {
    expect(read([...a], [...a], [...none], [...a], [...b])).toEqual({ text: 'aab', score: (0.75 + 0.75 + 1) / 3 });
    expect(read([...none])).toEqual({ text: '', score: 0 });
  });

  it('are parted by a space that is a distant second between them', () => {
    expect(read([...a], [0.97, 0, 0, 0.03], [...b]).text).toBe('a b');
    expect(read([...a], [0.99, 0, 0, 0.005], [...b]).text).toBe('ab');
    expect(read([...a], [0, 0, 0, 1], [0.9, 0, 0, 0.1], [...b]).text).toBe('a b');
    expect(read([0.9, 0, 0, 0.1], [...b]).text).toBe('b');
  });
});
