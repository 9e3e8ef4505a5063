import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchRow, LengthBatcher } from './length-batcher.js';

const limits = { tokens: 512, rows: 32 };

function rowsOf(owner: string, lengths: number[]): BatchRow[] {
  return lengths.map((length) => ({ owner, length }));
}

function drain(batcher: LengthBatcher<BatchRow>): BatchRow[][] {
  const batches: BatchRow[][] = [];
  for (let batch = batcher.next(); batch.length > 0; batch = batcher.next()) batches.push(batch);
  return batches;
}

describe('LengthBatcher', () => {
  it('puts every row into exactly one batch, within the limits and with little padding', () => {
    const lengths = fc.array(fc.integer({ min: 2, max: 700 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(lengths, { minLength: 1, maxLength: 6 }), (requests) => {
        const batcher = new LengthBatcher(limits);
        const all = requests.flatMap((each, number) => {
          const rows = rowsOf(`r${number}`, each);
          batcher.add(`r${number}`, rows);
          return rows;
        });
        const batches = drain(batcher);
        expect(new Set(batches.flat())).toEqual(new Set(all));
        expect(batches.flat()).toHaveLength(all.length);
        expect(batcher.size).toBe(0);
        for (const batch of batches) {
          const own = batch.reduce((sum, { length }) => sum + length, 0);
          const cells = Math.max(...batch.map(({ length }) => length)) * batch.length;
          expect(batch.length).toBeLessThanOrEqual(limits.rows);
          if (batch.length > 1) expect(cells).toBeLessThanOrEqual(limits.tokens);
          expect(cells - own).toBeLessThanOrEqual(Math.max(16, own / 6));
        }
      }),
    );
  });

  it('joins texts of several requests and separates short texts from long ones', () => {
    const batcher = new LengthBatcher(limits);
    batcher.add('a', rowsOf('a', [10, 200]));
    batcher.add('b', rowsOf('b', [11, 190]));
    const lengths = drain(batcher).map((batch) => batch.map(({ length }) => length).toSorted((l, r) => l - r));
    expect(lengths.toSorted((left, right) => (left[0] ?? 0) - (right[0] ?? 0))).toEqual([
      [10, 11],
      [190, 200],
    ]);
  });

  it('runs a short request after at most one batch of a huge request', () => {
    const batcher = new LengthBatcher(limits);
    batcher.add(
      'huge',
      rowsOf(
        'huge',
        Array.from({ length: 2_000 }, () => 500),
      ),
    );
    batcher.next();
    batcher.add('small', rowsOf('small', [12]));
    const owners = [batcher.next(), batcher.next()].flat().map(({ owner }) => owner);
    expect(owners).toContain('small');
  });

  it('drops the rows of a removed request', () => {
    const batcher = new LengthBatcher(limits);
    batcher.add('a', rowsOf('a', [5, 6]));
    batcher.add('b', rowsOf('b', [5]));
    batcher.remove('a');
    batcher.remove('nobody');
    expect(drain(batcher)).toEqual([rowsOf('b', [5])]);
  });

  it('runs a row that is longer than the limit alone', () => {
    const batcher = new LengthBatcher(limits);
    batcher.add('a', rowsOf('a', [600, 600]));
    expect(drain(batcher).map((batch) => batch.length)).toEqual([1, 1]);
  });
});
