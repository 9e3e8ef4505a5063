import type { CacheBlock } from './cache-block.js';
import type { CacheRow } from './decoder.js';
import type { LayeredCache } from './layered-cache.js';
import type { RowState } from './row-states.js';
import type { StateSnapshot } from './state-snapshots.js';
import { copyableLength, type Span, type WindowLimits, windowStart } from './window-positions.js';

/** The largest window of a graph's layers, and what is kept around it. */
export interface KeptWindow extends WindowLimits {
  size: number;
}

/** Positions of layers with a window in a row of a block: from `start` up to `length`. */
interface WindowPiece extends Span {
  block: CacheBlock;
  row: number;
}

/** What a row has beside its positions from `start` on. */
type Held = Pick<SplitRow, 'cache' | 'head' | 'tail'> & Span;

/** A row of the split graph. */
export class SplitRow implements CacheRow, Span {
  length = 0;
  /** First position that layers with a window have; 0 without such layers. */
  start = 0;
  /** Null without positions. A row of the running batch uses the batch's cache. */
  cache: LayeredCache | null = null;
  index = 0;
  /** The first positions before `start` in layers with a window; null if there are none. */
  head: CacheBlock | null = null;
  /** Positions before the end of the prompt, once `start` is behind them; null before, and where the head has them. */
  tail: WindowPiece | null = null;
  /** Where the prompt ended; 0 before. The next turn of a chat has this much in common with it at least. */
  promptLength = 0;
  /** Added to the index of every position after the prompt, where images shift positions. */
  shift = 0;
  /** State of layers that do not attend; null without such layers or positions, and in rows that do not go on. */
  state: RowState | null = null;
  /** States at earlier positions, the shortest first. */
  snapshots: StateSnapshot<RowState>[] = [];

  constructor(
    private readonly window: KeptWindow | null,
    /** Number of its adapter in the graph; 0: none. */
    readonly adapter: number,
    private readonly hasStates: boolean,
  ) {}

  get reusableLength(): number {
    return this.length;
  }

  copyableLength(wanted: number): number {
    const most = Math.min(wanted, this.length);
    if (!this.hasStates) return this.windowedLength(most);
    const lengths = this.snapshots.flatMap(({ length, state }) => (state === null ? [] : [length]));
    if (this.state !== null) lengths.push(this.length);
    return Math.max(0, ...lengths.filter((length) => length <= most && this.windowedLength(length) === length));
  }

  private windowedLength(length: number): number {
    return this.window === null ? length : copyableLength(length, this.spans, this.window.size, this.window);
  }

  /** Returns the state behind the first `length` positions for another holder; null if it was not kept. */
  stateAt(length: number): RowState | null {
    if (length === this.length && this.state !== null) return this.state.share();
    return this.snapshots.find((snapshot) => snapshot.length === length)?.state?.share() ?? null;
  }

  /** Number of positions in the head. */
  get headLength(): number {
    return Math.min(this.start, this.window?.head ?? 0);
  }

  /** The positions that layers with a window have: the head ends where the row starts, up to its limit. */
  private get spans(): Span[] {
    const first = { start: 0, length: this.headLength === this.start ? this.length : this.headLength };
    return [first, this, ...(this.tail ? [this.tail] : [])];
  }

  /** Copies positions of layers with a window to the first row of a block. */
  copyWindow({ start, length }: Span, block: CacheBlock): void {
    for (let next = start; next < length;) {
      const piece = this.pieces().find((each) => each.start <= next && next < each.length);
      if (!piece) throw new RangeError('The row has dropped positions of this prefix.');
      const count = Math.min(length, piece.length) - next;
      const from = { row: piece.row, from: next - piece.start, length: count };
      piece.block.copyPositions(from, { block, row: 0, position: next - start });
      next += count;
    }
  }

  /** Drops positions that no later token sees, except for the copies that later prompts may need. */
  dropUnseen(): void {
    if (this.window === null || this.cache === null) return;
    const { windowed } = this.cache;
    const start = windowStart(this.length, this.window.size, this.window);
    if (start <= this.start) return;
    const prompt = { start: windowStart(this.promptLength, this.window.size, this.window), length: this.promptLength };
    if (this.tail === null && prompt.length > this.window.head && prompt.start < start) {
      const block = windowed.newRow(prompt.length - prompt.start);
      this.copyWindow(prompt, block);
      this.tail = { ...prompt, block, row: 0 };
    }
    const headLength = Math.min(start, this.window.head);
    if (headLength > this.headLength) {
      const head = windowed.newRow(headLength);
      this.copyWindow({ start: 0, length: headLength }, head);
      this.head = head;
    }
    this.cache.dropBefore(start, this.index, this);
    this.start = start;
  }

  /** Replaces all that it has; its place in a cache of one row is the first. */
  hold({ cache, head, tail, length, start }: Held): void {
    this.cache = cache;
    this.head = head;
    this.tail = tail;
    this.length = length;
    this.start = start;
    this.index = 0;
  }

  private pieces(): WindowPiece[] {
    const { cache, head, tail, start, length } = this;
    const pieces = tail ? [tail] : [];
    if (cache) pieces.push({ block: cache.windowed, row: this.index, start, length });
    if (head) pieces.push({ block: head, row: 0, start: 0, length: this.headLength });
    return pieces;
  }
}
