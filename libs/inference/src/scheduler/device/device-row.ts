import type { CacheRow } from '../decoder.js';
import type { DeviceCache } from './cache-copier.js';

/** Positions of a row in a cache that it does not own. */
export interface BorrowedRow {
  cache: DeviceCache;
  slot: number;
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

  /** `adapter`: number in the graph; 0: none. */
  constructor(readonly adapter: number) {}

  get reusableLength(): number {
    return this.length;
  }

  copyableLength(wanted: number): number {
    return Math.min(wanted, this.length);
  }
}
