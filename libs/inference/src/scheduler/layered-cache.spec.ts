import { describe, expect, it } from 'vitest';
import type { CacheSizes, SplitGraph } from '../runtime/decoder-graph.js';
import { FakeGraphSession } from './fake-graph-session.js';
import { LayeredCache } from './layered-cache.js';

const latents = { heads: 1, dimension: 3 };

/** Two layers with latents, of which the first has an indexer with keys of this size. */
function openCache(index: CacheSizes): LayeredCache {
  const caches = [
    { past: 'past_key_values.0.latent', present: null },
    { past: 'past_key_values.0.index', present: null, isIndex: true as const },
    { past: 'past_key_values.1.latent', present: null },
  ];
  const sizes = { whole: latents, windowed: { heads: 0, dimension: 0 }, index };
  const graph: Pick<SplitGraph, 'caches' | 'kvHeads' | 'headDim' | 'sizes'> = { caches, kvHeads: 1, headDim: 3, sizes };
  return new LayeredCache(new FakeGraphSession(), graph);
}

/** Positions of one row, whose values count through the caches. */
function fresh(count: number): { data: Float32Array; batch: number; steps: number } {
  return { data: Float32Array.from({ length: 3 * count * 3 }, (_, index) => index), batch: 1, steps: count };
}

const rowsOf = (cache: LayeredCache, row: number) =>
  cache.tensors(row, 1).map(({ data, dims }) => ({ values: [...(data as Float32Array)], dims }));

describe('LayeredCache', () => {
  it('keeps the keys of indexers beside the latents, in the order of the graph', () => {
    const cache = openCache({ heads: 1, dimension: 2 });
    cache.resize(1, { whole: 2, windowed: 1 }, []);
    cache.append(fresh(2), { batchIndex: 0, row: 0, count: 2 }, { start: 0, length: 0 });
    const held = [
      { values: [0, 1, 2, 3, 4, 5], dims: [1, 1, 2, 3] },
      // The graph puts a zero behind each key.
      { values: [6, 7, 9, 10], dims: [1, 1, 2, 2] },
      { values: [12, 13, 14, 15, 16, 17], dims: [1, 1, 2, 3] },
    ];
    expect(rowsOf(cache, 0)).toEqual(held);
    const copy = openCache({ heads: 1, dimension: 2 });
    copy.resize(1, { whole: 2, windowed: 1 }, []);
    cache.copyRow(0, { cache: copy, row: 0 }, { start: 0, length: 2 });
    expect(rowsOf(copy, 0)).toEqual(held);
    copy.scrub([{ start: 0, length: 1 }]);
    expect(rowsOf(copy, 0).map(({ values }) => values)).toEqual([
      [0, 1, 2, 0, 0, 0],
      [6, 7, 0, 0],
      [12, 13, 14, 0, 0, 0],
    ]);
  });

  it('has as many positions of both where memory is exhausted in between', () => {
    const cache = openCache({ heads: 1, dimension: 2 ** 20 });
    cache.resize(1, { whole: 1, windowed: 1 }, []);
    const capacities = () => cache.tensors(0, 1).map(({ dims }) => dims[2]);
    // The latents of so many positions fit, and 16 TiB of keys do not.
    expect(() => cache.resize(1, { whole: 2 ** 22, windowed: 1 }, [])).toThrow(RangeError);
    expect(capacities()).toEqual([1, 1, 1]);
  });
});
