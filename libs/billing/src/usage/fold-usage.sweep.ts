import { type Clock, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { RunInterval } from '#platform/timed-call';
import { UsageFoldRepository } from './usage-fold.repository.js';

/** Longer than a transaction that closes jobs can take: later commits must not be dated before what is folded. In ms. */
const lagMs = 600_000;
/** How much one statement folds, in ms: less after one that the database cancelled, because so much was used then. */
const spansMs = [6 * 3_600_000, 3_600_000, 900_000] as const;
/** Pause between two runs that found no more, in ms. */
const everyMs = 300_000;
/** How long one run may take, in ms: the other sweeps wait for it. */
const budgetMs = 1_000;

/** Keeps the sums that usage is read from up to date. They are no money: the ledger is summed up where they end. */
@Injectable()
export class FoldUsageSweep {
  readonly name = 'fold-usage';
  private readonly interval: RunInterval;
  /** The place in `spansMs` of what the next statement folds. */
  private span = 0;

  constructor(
    private readonly repository: UsageFoldRepository,
    @Optional() private readonly clock: Clock = systemClock,
  ) {
    this.interval = new RunInterval(everyMs, clock);
  }

  /** Resolves to the number of statements that found something. */
  async run(): Promise<number> {
    if (!this.interval.isDue) return 0;
    const startedMs = this.clock.monotonicMs();
    let count = 0;
    while (await this.foldSpan()) {
      count += 1;
      // An installation that was upgraded has years to fold; the next run goes on.
      if (this.clock.monotonicMs() - startedMs > budgetMs) return count;
    }
    this.span = 0;
    this.interval.restart(startedMs);
    return count;
  }

  private async foldSpan(): Promise<boolean> {
    try {
      return await this.repository.fold({ lagMs, spanMs: spansMs[this.span] ?? spansMs[0] });
    } catch (error) {
      this.span = Math.min(this.span + 1, spansMs.length - 1);
      throw error;
    }
  }
}
