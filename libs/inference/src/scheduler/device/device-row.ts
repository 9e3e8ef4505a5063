import type { CacheRow } from '../decoder.js';
import type { StateSnapshot } from '../state-snapshots.js';
import type { DeviceCache } from './cache-copier.js';
import type { ResidentState } from './resident-states.js';

/** Positions of a row in a cache that it does not own. */
export interface BorrowedRow {
  cache: DeviceCache;
  slot: number;
  /** State behind them; null: without such layers, and in rows that do not go on. */
  state: ResidentState | null;
}

/** A row whose keys and values are on the device. */
export class DeviceRow implements CacheRow {
  length = 0;
  /** A cache of one row; null without positions, and for a row of the running batch. */
  cache: DeviceCache | null = null;
  /** Where its positions are until they are copied, before anything is written there. */
  borrowed: BorrowedRow | null = null;
  /** Its place in the running batch; null outside. */
  slot: number | null = null;
  /** Added to the index of every position after the prompt, where images shift positions. */
  shift = 0;
  /** States at earlier positions, the shortest first. */
  snapshots: StateSnapshot<ResidentState>[] = [];

  /** `adapter`: number in the graph; 0: none. */
  constructor(
    readonly adapter: number,
    private readonly hasStates: boolean,
  ) {}

  get reusableLength(): number {
    return this.length;
  }

  copyableLength(wanted: number): number {
    const most = Math.min(wanted, this.length);
    if (!this.hasStates) return most;
    const lengths = this.snapshots.flatMap(({ length, state }) => (state === null ? [] : [length]));
    return Math.max(0, ...lengths.filter((length) => length <= most));
  }

  /** Returns the state behind the first `length` positions for another holder; null if it was not kept. */
  stateAt(length: number): ResidentState | null {
    return this.snapshots.find((snapshot) => snapshot.length === length)?.state?.share() ?? null;
  }
}
