/*
 * What a fair share of the workers is, counted in jobs and not in seconds, so that it is the same on every machine.
 *
 * A tier is whoever has a queue: one model. While tiers have jobs waiting, a fair house begins one of each in turn; one
 * that has no more leaves its turn to the others (max-min fairness). By the time the p-th job of a tier begins, every
 * other tier has then begun p jobs, or all it had.
 */

/** How many jobs there are of each tier. */
export type TierSizes = ReadonlyMap<string, number>;

/** The place in the order of all beginnings by which the `place`-th job of any tier has its turn, both from 1. */
export function fairTurn(sizes: TierSizes, place: number): number {
  return [...sizes.values()].reduce((sum, size) => sum + Math.min(size, place), 0);
}

export interface WaitingJob {
  tier: string;
  requestId: string;
}

export interface FairnessOptions {
  sizes: TierSizes;
  /** In the order they entered, and in the order they were begun. */
  entered: readonly WaitingJob[];
  begun: readonly WaitingJob[];
  /** Jobs that enter at the same time: which of them is first, nobody knows. */
  enteringAtOnce: number;
  /** Jobs that run at the same time: so many begin at once when the doors open. */
  lanes: number;
}

/** How long a tier had to wait. */
export interface TierWait {
  tier: string;
  jobs: number;
  /** Of the job that had to wait longest, measured by its bound: jobs begun up to its own, and its fair turn. */
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
