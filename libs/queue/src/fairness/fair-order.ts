import type { FairPlace, FairTurn } from '../contract/fair-turn.js';

/**
 * Start-time fair queueing (Goyal, Vin, Cheng, 1996) over the waiting jobs of one queue, which all count the same. A
 * job gets a start tag when it is enqueued, and the job with the lowest tag runs next, equal ones in the order of
 * arrival. The tag is the virtual time, or where the previous job of its account ends, whichever is later. The virtual
 * time is the lowest waiting tag: a new account starts there and not at the end of the line.
 *
 * The stores hold this state and do these steps in one atomic call each (`redis-fair-places.ts`,
 * `postgres-fair-places.ts`); the conformance suite compares them with this file. The tag is BullMQ's priority.
 */

/** The number of tags by which a job of weight 1 advances its account; a job of weight 16 advances it by one. */
export const tagsPerJob = 16;

/** BullMQ takes priorities up to 2^21: half of them for the virtual time, half for what lies before it. */
export const rebaseAt = 2 ** 20;

/**
 * The furthest that a tag may be from the virtual time. Jobs beyond it, 65,535 of one account, wait in the order of
 * arrival.
 */
export const maxSpread = 2 ** 20 - 1;

export const maxWeight = tagsPerJob;

/** Reads what the stores return: a tag, and 1 or 0, for each turn. */
export function placesOf(values: readonly number[]): FairPlace[] {
  return Array.from({ length: values.length / 2 }, (_, index) => ({
    tag: values[2 * index] ?? 1,
    goesFirst: values[2 * index + 1] === 1,
  }));
}

/** Returns how far a job advances its account, in tags. */
export function stepOf({ weight = 1 }: FairTurn): number {
  return Math.round(tagsPerJob / Math.min(Math.max(weight, 1), maxWeight));
}

/** The order of one queue. */
export class FairOrder {
  /** The virtual time. */
  now = 1;
  /** The highest tag. */
  top = 1;
  /** The virtual time at which the last job of each account ends. Missing accounts are not ahead of it. */
  private readonly ends = new Map<string, number>();
  /** The virtual time at which the last recovered job of each account ends. */
  private readonly recoveredEnds = new Map<string, number>();
  private someWait = false;

  /** Call before `assign`. `first` is the lowest tag that waits, null if no job waits: nobody is owed anything then. */
  advance(first: number | null): void {
    this.someWait = first !== null;
    if (first === null) {
      this.now = this.top;
      this.ends.clear();
      this.recoveredEnds.clear();
    } else {
      this.now = Math.max(this.now, first);
    }
  }

  /**
   * Call between `advance` and `assign`. Returns what to subtract from every tag in the queue, but not below 1; 0 when
   * nothing. Keeps tags within their range however long a backlog lasts.
   */
  rebase(): number {
    if (this.now < rebaseAt) return 0;
    const shift = this.now - 1;
    for (const ends of [this.ends, this.recoveredEnds]) {
      for (const [account, end] of ends) {
        if (end > this.now) ends.set(account, end - shift);
        else ends.delete(account);
      }
    }
    this.top = Math.max(1, this.top - shift);
    this.now = 1;
    return shift;
  }

  assign(turn: FairTurn): FairPlace {
    const { account, isRecovered = false } = turn;
    const { now } = this;
    const start = Math.max(now, (isRecovered ? this.recoveredEnds : this.ends).get(account) ?? 0);
    const tag = Math.min(start, now + maxSpread);
    const end = tag + stepOf(turn);
    if (isRecovered) {
      this.recoveredEnds.set(account, end);
      this.ends.set(account, Math.max(now, this.ends.get(account) ?? 0) + stepOf(turn));
    } else {
      this.ends.set(account, end);
    }
    this.top = Math.max(this.top, end, this.ends.get(account) ?? 0);
    return { tag, goesFirst: this.someWait && !isRecovered && tag === now };
  }
}
