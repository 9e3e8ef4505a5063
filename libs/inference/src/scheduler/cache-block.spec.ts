import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CacheBlock, capacityFor } from './cache-block.js';
import { FakeGraphSession } from './fake-graph-session.js';

const shape = { caches: [0, 1], heads: 3, dimension: 2 };

/** Elements of one row of one cache, as seen by the graph. */
function seen(block: CacheBlock, row: number, length: number): number[][] {
  return block.tensors(row, 1).map(({ data }) => {
    const values = data as Float32Array;
    return Array.from({ length: shape.heads }, (_, head) => {
      const start = head * block.capacity * shape.dimension;
      return [...values.subarray(start, start + length * shape.dimension)];
    }).flat();
  });
}

/** New positions of one row, filled with numbers that encode where they belong. */
function fresh(seed: number, count: number): { data: Float32Array; batch: number; steps: number } {
  const elements = shape.caches.length * shape.heads * count * shape.dimension;
  return { data: Float32Array.from({ length: elements }, (_, index) => seed * 1000 + index), batch: 1, steps: count };
}

function filled(lengths: number[]): CacheBlock {
  const block = new CacheBlock(new FakeGraphSession(), shape);
  block.resize({ rows: lengths.length, capacity: Math.max(1, ...lengths), lengths: [] });
  lengths.forEach((count, row) => {
    if (count > 0) block.write(fresh(row, count), { batchIndex: 0, row, position: 0, count });
  });
  return block;
}

afterEach(() => void vi.unstubAllGlobals());

/** Lets the allocations of floats fail after some. */
function exhaustMemoryAfter(allocations: number): void {
  let left = allocations;
  const Floats = Float32Array;
  vi.stubGlobal(
    'Float32Array',
    new Proxy(Floats, {
      construct: (target, [size]: [number]) => {
        if (left-- <= 0) throw new RangeError('Array buffer allocation failed');
        return new target(size);
      },
    }),
  );
}

describe('CacheBlock', () => {
  it('preserves every row through repeated layout changes', () => {
    const lengthsArbitrary = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 5 });
    const layoutsArbitrary = fc.array(
      fc.record({ moreRows: fc.integer({ min: 0, max: 3 }), moreCapacity: fc.integer({ min: 0, max: 20 }) }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(lengthsArbitrary, layoutsArbitrary, (lengths, layouts) => {
        const block = filled(lengths);
        const before = lengths.map((length, row) => seen(block, row, length));
        for (const { moreRows, moreCapacity } of layouts) {
          const capacity = Math.max(1, ...lengths) + moreCapacity;
          block.resize({ rows: lengths.length + moreRows, capacity, lengths });
          expect(block.tensors(0, lengths.length)[0]?.dims).toEqual([lengths.length, 3, capacity, 2]);
        }
        lengths.forEach((length, row) => expect(seen(block, row, length)).toEqual(before[row]));
      }),
    );
  });

  it('copies a row into another block without changing its neighbors', () => {
    const source = filled([4, 6]);
    const target = filled([3, 3, 3]);
    target.resize({ rows: 3, capacity: 9, lengths: [3, 3, 3] });
    const neighbours = [seen(target, 0, 3), seen(target, 2, 3)];
    source.copyRow(1, { block: target, row: 1 }, 5);
    expect(seen(target, 1, 5)).toEqual(seen(source, 1, 5));
    expect([seen(target, 0, 3), seen(target, 2, 3)]).toEqual(neighbours);
  });

  it('appends only the requested positions of a padded batch', () => {
    const block = filled([2, 2]);
    block.resize({ rows: 2, capacity: 8, lengths: [2, 2] });
    const steps = 3;
    const data = Float32Array.from(
      { length: shape.caches.length * 2 * shape.heads * steps * shape.dimension },
      (_, i) => i,
    );
    block.write({ data, batch: 2, steps }, { batchIndex: 1, row: 0, position: 2, count: 2 });
    const firstHead = seen(block, 0, 4)[0]?.slice(4, 8);
    expect(firstHead).toEqual([18, 19, 20, 21]);
    expect(seen(block, 0, 5)[0]?.slice(8, 10)).toEqual(
      seen(filled([2]), 0, 2)[0]
        ?.slice(4, 6)
        .fill(0),
    );
  });

  it('keeps its rows where memory is exhausted in the middle of a layout change', () => {
    const block = filled([4, 6]);
    const before = [seen(block, 0, 4), seen(block, 1, 6)];
    exhaustMemoryAfter(1);
    expect(() => block.resize({ rows: 3, capacity: 9, lengths: [4, 6] })).toThrow(RangeError);
    vi.unstubAllGlobals();
    expect([block.rows, block.capacity]).toEqual([2, 6]);
    expect([seen(block, 0, 4), seen(block, 1, 6)]).toEqual(before);
    block.resize({ rows: 3, capacity: 9, lengths: [4, 6] });
    expect([seen(block, 0, 4), seen(block, 1, 6)]).toEqual(before);
  });

  it('leaves out the zeros behind heads and values of new positions', () => {
    const block = new CacheBlock(new FakeGraphSession(), {
      caches: [1],
      heads: 2,
      dimension: 2,
      fresh: { heads: 3, dimension: 4 },
    });
    block.resize({ rows: 1, capacity: 3, lengths: [] });
    const [steps, count] = [3, 2];
    const data = Float32Array.from({ length: 2 * 3 * steps * 4 }, (_, index) => index);
    block.write({ data, batch: 1, steps }, { batchIndex: 0, row: 0, position: 1, count });
    // The second cache begins at 36, and a head is 12 long.
    const [tensor] = block.tensors(0, 1);
    expect([...((tensor ?? expect.fail()).data as Float32Array)]).toEqual([0, 0, 36, 37, 40, 41, 0, 0, 48, 49, 52, 53]);
  });

  it('holds one buffer beside its own while it grows, and gives memory back when it shrinks or is freed', () => {
    const wide = { caches: Array.from({ length: 16 }, (_, index) => index), heads: 2, dimension: 256 };
    const block = new CacheBlock(new FakeGraphSession(), wide);
    const bytes = () => process.memoryUsage().arrayBuffers;
    const start = bytes();
    const bytesOfRow = 16 * 2 * 256 * 4 * 128;
    block.resize({ rows: 4, capacity: 128, lengths: [] });
    expect(bytes() - start).toBeGreaterThan(3.9 * bytesOfRow);
    const old = block.tensors(0, 4).map(({ data }) => data as Float32Array);
    block.resize({ rows: 8, capacity: 128, lengths: [1, 1, 1, 1] });
    expect(old.every(({ length }) => length === 0)).toBe(true);
    block.resize({ rows: 2, capacity: 128, lengths: [1, 1] });
    expect(bytes() - start).toBeLessThan(3 * bytesOfRow);
    block.free();
    expect(bytes() - start).toBeLessThan(bytesOfRow);
    expect([block.rows, block.capacity]).toEqual([0, 0]);
  });

  it('shrinks in place where memory is exhausted', () => {
    const block = filled([4, 6, 5, 5]);
    const before = seen(block, 0, 4);
    exhaustMemoryAfter(0);
    block.resize({ rows: 1, capacity: 4, lengths: [4] });
    expect(block.tensors(0, 1)[0]?.dims).toEqual([1, 3, 4, 2]);
    expect(seen(block, 0, 4)).toEqual(before);
  });

  it('zeroes everything that no row uses', () => {
    const block = filled([4, 6, 5]);
    const kept = seen(block, 0, 2);
    block.scrub([2]);
    expect(seen(block, 0, 2)).toEqual(kept);
    const elements = block.tensors(0, 3).flatMap(({ data }) => [...(data as Float32Array)]);
    expect(elements.filter((value) => value !== 0)).toHaveLength(kept.flat().filter((value) => value !== 0).length);
  });
});

describe('capacityFor', () => {
  it('provides the required capacity and wastes at most a quarter of a long row', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200_000 }), (length) => {
        const capacity = capacityFor(length);
        expect(capacity).toBeGreaterThanOrEqual(length);
        expect(capacity - length).toBeLessThan(Math.max(64, length / 4 + 1));
        expect(capacityFor(capacity)).toBe(capacity);
      }),
    );
  });
});
