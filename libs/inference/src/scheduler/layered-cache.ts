import { cacheKind, type CacheKind, type SplitGraph } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import { CacheBlock, capacityFor } from './cache-block.js';
import type { Span } from './window-positions.js';

/** New keys and values as the graph returns them. */
export interface FreshPositions {
  data: Float32Array;
  batch: number;
  steps: number;
}

/**
 * Keys and values of some rows in blocks: of the layers that see the whole context, with the keys of their indexers, and
 * of those with a window, whose rows begin at their `start`. Any block may have no layer.
 */
export class LayeredCache {
  readonly whole: CacheBlock;
  readonly windowed: CacheBlock;
  /** Its rows are as long as those of `whole`. */
  private readonly index: CacheBlock;

  constructor(
    session: GraphSession,
    { caches, kvHeads, headDim, sizes }: Pick<SplitGraph, 'caches' | 'kvHeads' | 'headDim' | 'sizes'>,
  ) {
    const fresh = { heads: kvHeads, dimension: headDim };
    const block = (kind: CacheKind) => {
      const ofKind = [...caches.keys()].filter((index) => cacheKind(caches[index]) === kind);
      return new CacheBlock(session, { caches: ofKind, ...sizes[kind], fresh });
    };
    this.whole = block('whole');
    this.windowed = block('windowed');
    this.index = block('index');
  }

  get rows(): number {
    return this.whole.rows;
  }

  /** Changes rows and capacities to exactly what is given; `spans` are those of the rows to preserve, from row 0 on. */
  resize(rows: number, capacity: { whole: number; windowed: number }, spans: readonly Span[]): void {
    const lengths = spans.map(({ length }) => length);
    const before = { rows: this.whole.rows, capacity: this.whole.capacity, lengths };
    this.whole.resize({ rows, capacity: capacity.whole, lengths });
    try {
      this.index.resize({ rows, capacity: capacity.whole, lengths });
    } catch (error) {
      // The graph takes both with the same number of positions.
      this.whole.resize(before);
      throw error;
    }
    this.windowed.resize({ rows, capacity: capacity.windowed, lengths: spans.map(heldInWindow) });
  }

  /** Gives all memory back. */
  free(): void {
    this.whole.free();
    this.index.free();
    this.windowed.free();
  }

  /** Sizes all blocks for `rows` rows and the longest of the `needed` positions. */
  fit(rows: number, needed: readonly Span[], spans: readonly Span[]): void {
    const capacity = {
      whole: fittingCapacity(this.whole, Math.max(0, ...needed.map(({ length }) => length))),
      windowed: fittingCapacity(this.windowed, Math.max(0, ...needed.map(heldInWindow))),
    };
    this.resize(rows, capacity, spans);
  }

  /** Inputs for rows `first` to `first + count`, in the order of the graph's caches. */
  tensors(first: number, count: number): GraphTensor[] {
    const inputs: GraphTensor[] = [];
    for (const block of [this.whole, this.index, this.windowed]) {
      block.tensors(first, count).forEach((tensor, index) => (inputs[block.shape.caches[index] ?? -1] = tensor));
    }
    return inputs;
  }

  /** Appends new positions of batch row `batchIndex`, from `step` on, to a row that has the positions of `span`. */
  append(
    fresh: FreshPositions,
    place: { batchIndex: number; step?: number; row: number; count: number },
    span: Span,
  ): void {
    for (const block of [this.whole, this.index]) block.write(fresh, { ...place, position: span.length });
    this.windowed.write(fresh, { ...place, position: heldInWindow(span) });
  }

  /** Copies all positions of a row, also to another cache. */
  copyRow(row: number, target: { cache: LayeredCache; row: number }, span: Span): void {
    this.copyWhole(row, target, span.length);
    this.windowed.copyRow(row, { block: target.cache.windowed, row: target.row }, heldInWindow(span));
  }

  /** Copies the first positions of a row of the layers without a window. */
  copyWhole(row: number, { cache, row: to }: { cache: LayeredCache; row: number }, length: number): void {
    this.whole.copyRow(row, { block: cache.whole, row: to }, length);
    this.index.copyRow(row, { block: cache.index, row: to }, length);
  }

  /** Drops the positions before `start` in layers with a window. */
  dropBefore(start: number, row: number, span: Span): void {
    const from = start - span.start;
    const length = span.length - start;
    this.windowed.copyPositions({ row, from, length }, { block: this.windowed, row, position: 0 });
  }

  /** Zeroes unused positions: masked positions are still multiplied, and NaN times zero is not zero. */
  scrub(spans: readonly Span[]): void {
    for (const block of [this.whole, this.index]) block.scrub(spans.map(({ length }) => length));
    this.windowed.scrub(spans.map(heldInWindow));
  }
}

export function heldInWindow({ length, start }: Span): number {
  return length - start;
}

/** Shrinking copies all rows, so it waits until it saves a substantial part of every step. */
function fittingCapacity(block: CacheBlock, positions: number): number {
  const needed = capacityFor(positions);
  return needed <= block.capacity && needed > block.capacity * 0.625 ? block.capacity : needed;
}
