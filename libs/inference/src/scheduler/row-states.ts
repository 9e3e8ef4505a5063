import { productOf } from '#common/values';
import { freeBytes } from '#platform/memory';
import type { StateNames } from '../runtime/decoder-graph.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import { type SnapshotLimits, StateSnapshots } from './state-snapshots.js';

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

/** The states that a run reads; released once nothing runs with them any more. */
export interface PastStates {
  feeds: Record<string, GraphTensor>;
  release(): void;
}

/**
 * States of layers that keep no keys and values. A state cannot be shortened as a cache can, so a prefix is reused only
 * where a snapshot of its state was kept. Snapshots cost no copy while a row runs alone.
 */
export class RowStates extends StateSnapshots<RowState> {
  private readonly sizes: readonly number[];

  constructor(
    private readonly session: GraphSession,
    private readonly tensors: readonly StateNames[],
    limits: SnapshotLimits,
  ) {
    super(limits);
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

  /** A row among others gives only its own part. */
  protected override copyForKeeping(state: RowState): RowState {
    return state.batch.rows === 1 ? state.share() : new RowState(this.gather([state]), 0);
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
