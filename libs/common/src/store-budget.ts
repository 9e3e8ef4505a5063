import { type Clock, systemClock } from './clock.js';
import { PlatformError } from './errors/platform-error.js';

/** What a caller hears whose request has waited for the stores as long as it may. What it asked of them may still happen. */
export class BudgetSpent extends PlatformError {
  constructor(budgetMs: number) {
    const cause = new Error(`database and queue kept a request waiting for ${budgetMs} ms`);
    super('SERVICE_UNAVAILABLE', 'The service cannot take requests at the moment.', null, { cause });
  }
}

/**
 * How long one request may wait for the stores, all its questions to them together: each may take what those before it have
 * left. Only waiting counts, not the time in which its body comes in or its answer goes out.
 */
export class StoreBudget {
  private waitedMs = 0;

  constructor(
    private readonly budgetMs: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** How long the request has waited for the stores so far, in ms. */
  get spentMs(): number {
    return this.waitedMs;
  }

  /**
   * Ends as `work` does, or rejects with `BudgetSpent` when nothing is left before; `work` itself goes on, and `undo` takes
   * back what it brings when nobody waits for it any more.
   */
  async within<Result>(work: Promise<Result>, undo?: (late: Result) => unknown): Promise<Result> {
    const beganMs = this.clock.monotonicMs();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const leftMs = Math.max(0, this.budgetMs - this.waitedMs);
      timer = setTimeout(() => reject(new BudgetSpent(this.budgetMs)), leftMs);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      if (undo !== undefined && error instanceof BudgetSpent) void work.then(undo).catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(timer);
      this.waitedMs += this.clock.monotonicMs() - beganMs;
    }
  }
}
