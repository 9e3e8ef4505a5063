import { expect, it } from 'vitest';
import { grownGap } from './grown-hole.js';

const drawn = (mask: Uint8Array, width: number): string[] =>
  Array.from({ length: mask.length / width }, (_, row) =>
    [...mask.subarray(row * width, (row + 1) * width)].map((value) => (value === 0 ? '.' : '#')).join(''),
  );
const parsed = (rows: string[]): Uint8Array =>
  Uint8Array.from([...rows.join('')].map((character) => (character === '.' ? 0 : 255)));

it('holes grow to all sides, and never around a corner of the picture', () => {
  const mask = parsed(['.......', '.......', '...#...', '.......', '......#']);
  expect(drawn(grownGap(mask, 7, 1), 7)).toEqual(['.......', '..###..', '..###..', '..#####', '.....##']);
  expect(drawn(grownGap(mask, 7, 2), 7)).toEqual(['.#####.', '.#####.', '.######', '.######', '.######']);
});

it('no hole stays none, and no reach leaves the mask as it is', () => {
  expect(drawn(grownGap(new Uint8Array(12), 4, 3), 4)).toEqual(['....', '....', '....']);
  const mask = parsed(['#..', '..#']);
  expect(drawn(grownGap(mask, 3, 0), 3)).toEqual(['#..', '..#']);
});
