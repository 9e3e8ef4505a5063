import { expect, it } from 'vitest';
import { dilateMask } from './dilated-mask.js';

const drawn = (mask: Uint8Array, width: number): string[] =>
  Array.from({ length: mask.length / width }, (_, row) =>
    [...mask.subarray(row * width, (row + 1) * width)].map((value) => (value === 0 ? '.' : '#')).join(''),
  );
const parsed = (rows: string[]): Uint8Array =>
  Uint8Array.from([...rows.join('')].map((character) => (character === '.' ? 0 : 255)));

it('dilates masked areas to all sides, and never around the edge of the image', () => {
  const mask = parsed(['.......', '.......', '...#...', '.......', '......#']);
  expect(drawn(dilateMask(mask, 7, 1), 7)).toEqual(['.......', '..###..', '..###..', '..#####', '.....##']);
  expect(drawn(dilateMask(mask, 7, 2), 7)).toEqual(['.#####.', '.#####.', '.######', '.######', '.######']);
});

it('keeps an empty mask empty, and any mask as it is without a reach', () => {
  expect(drawn(dilateMask(new Uint8Array(12), 4, 3), 4)).toEqual(['....', '....', '....']);
  const mask = parsed(['#..', '..#']);
  expect(drawn(dilateMask(mask, 3, 0), 3)).toEqual(['#..', '..#']);
});
