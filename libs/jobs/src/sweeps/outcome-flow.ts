import { type Clock, systemClock } from '#common';
import type { OutcomeQueue } from '#queue';

export interface OutcomeFlowOptions {
  /** For how long an outcome may be under way before it holds the sweeps up, in ms; default: 1 s. */
  slowMs?: number;
  /** After how long of looking one that still waits is not waited for any more, in ms; default: 5 min. */
  patienceMs?: number;
  clock?: Clock;
}

/** Between two looks the database may have been away: no more than this counts for an outcome's age, in ms. */
const longestGapMs = 10_000;

/**
 * Says whether outcomes are written as they come: a row is lost only when no outcome waits that may be its own. Asks the
 * queue, which every replica shares and which outlives them. One outcome that can never be written must not stop the sweeps
 * for good; as every retry comes within seconds of the database's return, ages count only while sweeps can look.
 */
export class OutcomeFlow {
  /** For how long each batch that waits was watched, in ms. */
  private ages = new Map<string, number>();
  private lookedAtMs: number | null = null;
  private readonly clock: Clock;

  constructor(
    private readonly outcomes: Pick<OutcomeQueue, 'pending'>,
    private readonly options: OutcomeFlowOptions = {},
  ) {
    this.clock = options.clock ?? systemClock;
  }

  /**
   * Ask it after the database has answered and after the queue was asked for the jobs: an outcome is reported before its job
   * leaves the queue. Rejects when the queue does not answer.
   */
  async flows(): Promise<boolean> {
    const { slowMs = 1_000, patienceMs = 300_000 } = this.options;
    const { postponed, underWay } = await this.outcomes.pending();
    const nowMs = this.clock.monotonicMs();
    const passedMs = Math.min(nowMs - (this.lookedAtMs ?? nowMs), longestGapMs);
    this.lookedAtMs = nowMs;
    const ageOf = (id: string) => (this.ages.has(id) ? (this.ages.get(id) ?? 0) + passedMs : 0);
    this.ages = new Map([...postponed, ...underWay].map((id) => [id, ageOf(id)]));
    const isWaitedFor = (id: string, fromMs: number) => {
      const ageMs = this.ages.get(id) ?? 0;
      return ageMs >= fromMs && ageMs < patienceMs;
    };
    return !postponed.some((id) => isWaitedFor(id, 0)) && !underWay.some((id) => isWaitedFor(id, slowMs));
  }
}
