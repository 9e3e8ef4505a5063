import { freeBytes } from '#platform/memory';
import type { CacheSizes } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';

/** Sizes that are fixed while a model is loaded. */
export interface CacheShape extends CacheSizes {
  /** Which of the graph's keys and values of all layers: layer 0 key, layer 0 value, layer 1 key, … */
  caches: readonly number[];
  /** Sizes of new positions, which may have zeros behind the heads and their values; absent: no zeros. */
  fresh?: CacheSizes;
}

/**
 * Keys and values of some rows, with one buffer `[rows, heads, capacity, dimension]` per cache. Tensor views are
 * created once and stay valid until the next layout change. A graph's work grows with `capacity`, so it follows the
 * longest row up and down in steps (`capacityFor`).
 */
export class CacheBlock {
  private buffers: Float32Array[] = [];
  private rowsAllocated = 0;
  private readonly views = new Map<string, GraphTensor[]>();
  /** Positions available to each row. */
  capacity = 0;

  constructor(
    private readonly session: GraphSession,
    readonly shape: CacheShape,
  ) {}

  /** Returns a block of the same caches with one row. */
  newRow(capacity: number): CacheBlock {
    const block = new CacheBlock(this.session, this.shape);
    block.resize({ rows: 1, capacity, lengths: [] });
    return block;
  }

  /**
   * Changes rows and capacity. `lengths` are the used positions of the rows to preserve, from row 0 on. Reuses buffers
   * unless they are too small, or twice as large as needed. One cache after the other gets its new buffer and loses the
   * old one, so that a layout change takes little more memory than the block itself. Throws `RangeError` without changes
   * if memory is exhausted. Tensors of the old layout must not be used any more.
   */
  resize(layout: { rows: number; capacity: number; lengths: readonly number[] }): void {
    const { rows, capacity, lengths } = layout;
    if (rows === this.rowsAllocated && capacity === this.capacity) return;
    this.views.clear();
    const elements = rows * this.shape.heads * capacity * this.shape.dimension;
    const change = { from: this.capacity, to: capacity };
    let cache = 0;
    try {
      for (; cache < this.shape.caches.length; cache++) this.replaceBuffer(cache, elements, { change, lengths });
    } catch (error) {
      // Only a larger buffer can fail, so those that were replaced have room for the old layout.
      while (cache-- > 0) this.moveWithin(cache, { from: capacity, to: this.capacity }, lengths);
      throw error;
    }
    this.rowsAllocated = rows;
    this.capacity = capacity;
  }

  /** Gives all memory back. */
  free(): void {
    this.views.clear();
    for (const buffer of this.buffers) freeBytes(buffer);
    this.buffers = [];
    this.rowsAllocated = 0;
    this.capacity = 0;
  }

  get rows(): number {
    return this.rowsAllocated;
  }

  /** Returns inputs for rows `first` to `first + count`, one tensor per cache. */
  tensors(first: number, count: number): GraphTensor[] {
    const key = `${first}+${count}`;
    const known = this.views.get(key);
    if (known) return known;
    const { heads, dimension } = this.shape;
    const perRow = heads * this.capacity * dimension;
    const views = this.buffers.map((buffer) =>
      this.session.tensor('float32', buffer.subarray(first * perRow, (first + count) * perRow), [
        count,
        heads,
        this.capacity,
        dimension,
      ]),
    );
    this.views.set(key, views);
    return views;
  }

  /**
   * Writes new positions returned by the graph, `[all caches, batch, heads, steps, dimension]` of `shape.fresh`. Of batch
   * row `batchIndex`, `count` from `step` on (default 0) go to row `row` from position `position` on.
   */
  write(
    fresh: { data: Float32Array; batch: number; steps: number },
    target: { batchIndex: number; step?: number; row: number; position: number; count: number },
  ): void {
    const { heads, dimension, fresh: sizes = this.shape } = this.shape;
    const stride = fresh.steps * sizes.dimension;
    // Positions that the graph pads are copied one by one.
    const pieces = sizes.dimension === dimension ? 1 : target.count;
    const elements = (target.count * dimension) / pieces;
    const { step: firstStep = 0 } = target;
    for (const [cache, source] of this.shape.caches.entries()) {
      const buffer = this.bufferOf(cache);
      const first = (source * fresh.batch + target.batchIndex) * sizes.heads * stride + firstStep * sizes.dimension;
      const start = (target.row * heads * this.capacity + target.position) * dimension;
      for (let head = 0; head < heads; head++) {
        for (let piece = 0; piece < pieces; piece++) {
          const from = first + head * stride + piece * sizes.dimension;
          const to = start + (head * this.capacity + piece) * dimension;
          // A plain loop is faster than a typed-array copy for the few hundred bytes of one position.
          if (elements <= 256) for (let i = 0; i < elements; i++) buffer[to + i] = fresh.data[from + i] as number;
          else buffer.set(fresh.data.subarray(from, from + elements), to);
        }
      }
    }
  }

  /** Copies the first `length` positions of a row, also to another block. */
  copyRow(row: number, target: { block: CacheBlock; row: number }, length: number): void {
    this.copyPositions({ row, from: 0, length }, { ...target, position: 0 });
  }

  /** Copies positions of a row, also within it. */
  copyPositions(
    { row, from, length }: { row: number; from: number; length: number },
    target: { block: CacheBlock; row: number; position: number },
  ): void {
    const { heads, dimension } = this.shape;
    const elements = length * dimension;
    for (let cache = 0; cache < this.shape.caches.length; cache++) {
      const source = this.bufferOf(cache);
      const destination = target.block.bufferOf(cache);
      for (let head = 0; head < heads; head++) {
        const start = ((row * heads + head) * this.capacity + from) * dimension;
        const to = ((target.row * heads + head) * target.block.capacity + target.position) * dimension;
        destination.set(source.subarray(start, start + elements), to);
      }
    }
  }

  /** Zeroes unused positions: masked positions are still multiplied, and NaN times zero is not zero. */
  scrub(lengths: readonly number[]): void {
    const { heads, dimension } = this.shape;
    const perHead = this.capacity * dimension;
    for (const buffer of this.buffers) {
      lengths.forEach((length, row) => {
        for (let head = 0; head < heads; head++) {
          const start = (row * heads + head) * perHead;
          buffer.fill(0, start + length * dimension, start + perHead);
        }
      });
      buffer.fill(0, lengths.length * heads * perHead);
    }
  }

  private bufferOf(cache: number): Float32Array {
    const buffer = this.buffers[cache];
    if (!buffer) throw new RangeError('The cache block was used before it was sized.');
    return buffer;
  }

  private replaceBuffer(
    cache: number,
    elements: number,
    { change, lengths }: { change: CapacityChange; lengths: readonly number[] },
  ): void {
    const source = this.buffers[cache];
    const target = source ? newBuffer(source, elements) : new Float32Array(elements);
    this.buffers[cache] = target;
    if (!source) return;
    this.moveRows({ source, target }, change, lengths);
    if (source !== target) freeBytes(source);
  }

  private moveWithin(cache: number, change: CapacityChange, lengths: readonly number[]): void {
    const buffer = this.buffers[cache];
    // Empty before the first layout.
    if (buffer && change.to > 0) this.moveRows({ source: buffer, target: buffer }, change, lengths);
  }

  /**
   * Within one buffer, a growing layout moves from the back and a shrinking one from the front, so nothing is
   * overwritten.
   */
  private moveRows(
    { source, target }: { source: Float32Array; target: Float32Array },
    change: CapacityChange,
    lengths: readonly number[],
  ): void {
    const { heads, dimension } = this.shape;
    const pieces = lengths.length * heads;
    const fromBack = change.to > change.from;
    for (let step = 0; step < pieces; step++) {
      const piece = fromBack ? pieces - 1 - step : step;
      const length = (lengths[Math.floor(piece / heads)] ?? 0) * dimension;
      const from = piece * change.from * dimension;
      const to = piece * change.to * dimension;
      if (source === target) target.copyWithin(to, from, from + length);
      else target.set(source.subarray(from, from + length), to);
    }
  }
}

/** Positions of each row before and after a move. */
interface CapacityChange {
  from: number;
  to: number;
}

/** Returns the buffer itself if it has room and is not much too large, or one of the wanted size. */
function newBuffer(buffer: Float32Array, elements: number): Float32Array {
  const hasRoom = buffer.length >= elements;
  if (hasRoom && buffer.length < 2 * elements) return buffer;
  try {
    return new Float32Array(elements);
  } catch (error) {
    if (hasRoom) return buffer;
    throw error;
  }
}

/**
 * Returns the capacity for `length` positions: steps of 64, from 512 on quarters of the power of two below. At most a
 * quarter of a long row's work is spent on unused positions, and layout changes are rare.
 */
export function capacityFor(length: number): number {
  const step = length <= 512 ? 64 : 2 ** Math.floor(Math.log2(length - 1)) / 4;
  return Math.max(1, Math.ceil(length / step)) * step;
}
