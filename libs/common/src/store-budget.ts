import { type Clock, systemClock } from './clock.js';
import { PlatformError } from './errors/platform-error.js';

/** The error of a request that has waited too long for the stores. The pending calls may still take effect. */
export class BudgetSpent extends PlatformError {
  constructor(budgetMs: number) {
    const cause = new Error(`database and queue kept a request waiting for ${budgetMs} ms`);
    super('SERVICE_UNAVAILABLE', 'The service cannot take requests at the moment.', null, { cause });
  }
}

/**
 * How long one request may wait for the stores in total; each call may use what earlier ones left. Receiving the body
 * and sending the response do not count.
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
   * Settles like `work`, or rejects with `BudgetSpent` once the budget is used up. `work` then continues, and `undo`
   * reverts its late result.
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
