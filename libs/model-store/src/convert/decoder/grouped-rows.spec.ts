import { describe, expect, it } from 'vitest';
import { groupedRows } from './grouped-rows.js';

/** Two groups of four rows, of which the second row is left out. Each row holds its place twice. */
const layout = {
  groups: 2,
  rows: 4,
  pieces: [
    { from: 0, rows: 1 },
    { from: 2, rows: 2 },
  ],
};
const order = [0, 4, 2, 3, 6, 7];

function read(from: number, to: number): Promise<Float32Array> {
  const rows = Array.from({ length: to - from }, (_, index) => from + index);
  return Promise.resolve(Float32Array.from(rows.flatMap((row) => [row, row])));
}

async function places(from: number, to: number): Promise<number[]> {
  const values = await groupedRows(layout, { columns: 2, read }, [from, to]);
  return [...values].filter((_, index) => index % 2 === 0);
}

describe('rows in groups', () => {
  it('are read piece by piece, over all groups', async () => {
    expect(await places(0, 6)).toEqual(order);
  });

  it('are the same in any range', async () => {
    for (let from = 0; from < order.length; from++) {
      for (let to = from + 1; to <= order.length; to++) expect(await places(from, to)).toEqual(order.slice(from, to));
    }
  });
});
