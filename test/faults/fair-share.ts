/*
 * Measures fair shares of the workers in jobs instead of seconds, so that the result does not depend on the machine.
 *
 * A tier is one queue: one model. While tiers have waiting jobs, a fair scheduler begins one of each in turn; an empty
 * tier passes its turn on (max-min fairness). When the p-th job of a tier begins, every other tier has begun p jobs, or
 * all it had.
 */

/** Number of jobs per tier. */
export type TierSizes = ReadonlyMap<string, number>;

/** Returns the position by which the `place`-th job of any tier must have begun, both counted from 1. */
export function fairTurn(sizes: TierSizes, place: number): number {
  return [...sizes.values()].reduce((sum, size) => sum + Math.min(size, place), 0);
}

export interface WaitingJob {
  tier: string;
  requestId: string;
}

export interface FairnessOptions {
  sizes: TierSizes;
  /** Jobs in order of admission and in order of start. */
  entered: readonly WaitingJob[];
  begun: readonly WaitingJob[];
  /** Number of jobs admitted concurrently, whose order is unknown. */
  enteringAtOnce: number;
  /** Number of jobs that run concurrently and therefore begin together. */
  lanes: number;
}

/** Waiting time of a tier. */
export interface TierWait {
  tier: string;
  jobs: number;
  /** Worst job relative to its bound: jobs begun up to its own, and its fair turn. */
  turn: number;
  fair: number;
  /** `turn / fair`. */
  ratio: number;
}

/** The worst wait of each tier. */
export function worstWaits({ sizes, entered, begun, enteringAtOnce, lanes }: FairnessOptions): TierWait[] {
  const turns = new Map(begun.map(({ requestId }, index) => [requestId, index + 1]));
  const places = new Map<string, number>();
  const worst = new Map<string, TierWait>();
  for (const { tier, requestId } of entered) {
    const place = (places.get(tier) ?? 0) + 1;
    places.set(tier, place);
    const turn = turns.get(requestId) ?? Infinity;
    const fair = fairTurn(sizes, place + enteringAtOnce) + lanes;
    const wait = { tier, jobs: sizes.get(tier) ?? 0, turn, fair, ratio: turn / fair };
    const known = worst.get(tier);
    if (known === undefined || wait.ratio > known.ratio) worst.set(tier, wait);
  }
  return [...worst.values()];
}
