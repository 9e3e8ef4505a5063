import { productOf } from '#common/values';
import { freeBytes } from '#platform/memory';
import type { StateNames } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';

/** Number of values of a tensor in the state of one row. */
export function stateSize({ dimensions }: StateNames): number {
  return productOf(dimensions);
}

/** States of rows that ran together, one buffer `[rows, …]` per tensor. They are shared, and never written to. */
class StateBatch {
  private holders = 0;

  constructor(
    readonly buffers: readonly Float32Array[],
    readonly rows: number,
  ) {}

  hold(): this {
    this.holders++;
    return this;
  }

  /** Frees the memory with the last holder. */
  release(): void {
    this.holders--;
    if (this.holders === 0) for (const buffer of this.buffers) freeBytes(buffer);
  }
}

/** State of one row. Whoever has one releases it once. */
export class RowState {
  constructor(
    readonly batch: StateBatch,
    readonly index: number,
  ) {
    batch.hold();
  }

  /** Returns the same state for another holder. */
  share(): RowState {
    return new RowState(this.batch, this.index);
  }

  release(): void {
    this.batch.release();
  }
}

/** State of a row after its first `length` tokens. Rows with this beginning share it. */
export interface StateSnapshot {
  readonly length: number;
  /** Null once it had to make room for another. */
  state: RowState | null;
  holders: number;
}

/** The states that a run reads; released once nothing runs with them any more. */
export interface PastStates {
  feeds: Record<string, GraphTensor>;
  release(): void;
}

/** Limits of snapshots, as `keptStates` returns them. */
export interface SnapshotLimits {
  total: number;
  perRow: number;
}

/**
 * States of layers that keep no keys and values. A state cannot be shortened as a cache can, so a prefix is reused only
 * where a snapshot of its state was kept. Snapshots cost no copy while a row runs alone; the least recently used are
 * dropped when there are too many.
 */
export class RowStates {
  /** In order of their last use. */
  private readonly snapshots = new Set<StateSnapshot>();
  private readonly sizes: readonly number[];

  constructor(
    private readonly session: GraphSession,
    private readonly tensors: readonly StateNames[],
    private readonly limits: SnapshotLimits,
  ) {
    this.sizes = tensors.map(stateSize);
  }

  /** Outputs of the graph that `read` needs. */
  get fetches(): string[] {
    return this.tensors.map(({ present }) => present);
  }

  /**
   * Returns the inputs of a run over rows with these states, null before the first token. Rows that ran together last
   * time, in the same order, are passed on without a copy.
   */
  past(states: readonly (RowState | null)[]): PastStates {
    const [first] = states;
    const isSameRun = states.every(
      (state, place) => state !== null && state.batch === first?.batch && state.index === first.index + place,
    );
    const batch = (isSameRun && first ? first.batch : this.gather(states)).hold();
    const from = isSameRun && first ? first.index : 0;
    const feeds: PastStates['feeds'] = {};
    this.tensors.forEach(({ past, dimensions }, place) => {
      const [size, buffer] = [this.sizes[place] ?? 0, batch.buffers[place]];
      if (buffer === undefined) return;
      const view = buffer.subarray(from * size, (from + states.length) * size);
      feeds[past] = this.session.tensor('float32', view, [states.length, ...dimensions]);
    });
    return { feeds, release: () => batch.release() };
  }

  /** Returns the states after a run, of the rows that take one; the others keep what they have. */
  read(outputs: Record<string, GraphTensor>, takes: readonly boolean[]): (RowState | null)[] {
    const buffers = this.tensors.map(({ present }) => {
      const data = outputs[present]?.data;
      if (data instanceof Float32Array) return data;
      throw new TypeError('The graph did not return its states.');
    });
    const batch = new StateBatch(buffers, takes.length).hold();
    const states = takes.map((takesState, index) => (takesState ? new RowState(batch, index) : null));
    batch.release();
    return states;
  }

  /** Keeps a state for later prompts. The caller drops it once. */
  snapshot(length: number, state: RowState): StateSnapshot {
    // A row among others gives only its own part.
    const kept = state.batch.rows === 1 ? state.share() : new RowState(this.gather([state]), 0);
    const snapshot: StateSnapshot = { length, state: kept, holders: 1 };
    this.snapshots.add(snapshot);
    const [oldest] = this.snapshots;
    if (this.snapshots.size > this.limits.total && oldest) this.discard(oldest);
    return snapshot;
  }

  /**
   * Adds a snapshot to those of a row, in order. Where there are too many, the one that leaves the smallest gap is
   * dropped, never the last.
   */
  addTo(snapshots: StateSnapshot[], length: number, state: RowState): void {
    for (const lost of snapshots.filter(({ state: kept }) => kept === null)) {
      snapshots.splice(snapshots.indexOf(lost), 1);
      this.drop(lost);
    }
    if (snapshots.at(-1)?.length === length) return;
    snapshots.push(this.snapshot(length, state));
    if (snapshots.length <= this.limits.perRow) return;
    const gapWithout = (place: number) =>
      (snapshots[place + 1]?.length ?? Infinity) - (snapshots[place - 1]?.length ?? 0);
    let closest = 0;
    for (let place = 1; place + 1 < snapshots.length; place++) {
      if (gapWithout(place) < gapWithout(closest)) closest = place;
    }
    for (const dropped of snapshots.splice(closest, 1)) this.drop(dropped);
  }

  /** Marks a snapshot as just used. */
  touch(snapshot: StateSnapshot): void {
    if (this.snapshots.delete(snapshot)) this.snapshots.add(snapshot);
  }

  drop(snapshot: StateSnapshot): void {
    snapshot.holders--;
    if (snapshot.holders === 0) this.discard(snapshot);
  }

  /** Number of states that are kept for later prompts. */
  get keptCount(): number {
    return this.snapshots.size;
  }

  private discard(snapshot: StateSnapshot): void {
    this.snapshots.delete(snapshot);
    snapshot.state?.release();
    snapshot.state = null;
  }

  private gather(states: readonly (RowState | null)[]): StateBatch {
    const buffers = this.sizes.map((size, place) => {
      const target = new Float32Array(states.length * size);
      states.forEach((state, row) => {
        const source = state?.batch.buffers[place];
        if (state && source) target.set(source.subarray(state.index * size, (state.index + 1) * size), row * size);
      });
      return target;
    });
    return new StateBatch(buffers, states.length);
  }
}
