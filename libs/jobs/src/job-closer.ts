import type { ClosedJob, ClosedListener, ClosingStep, JobClosing } from './job-states.js';
import type { JobsRepository } from './jobs.repository.js';

/**
 * The one way a row is closed. Whoever wins the compare-and-set runs the steps, in the same transaction; everybody
 * else changes nothing, so closing twice is as good as once.
 */
export class JobCloser {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly steps: readonly ClosingStep[] = [],
    private readonly listeners: readonly ClosedListener[] = [],
  ) {}

  /** The closed row, or null when this closing does not count. */
  async close(closing: JobClosing): Promise<ClosedJob | null> {
    const job = await this.closeRow(closing);
    if (job) for (const listener of this.listeners) listener(job);
    return job;
  }

  private async closeRow(closing: JobClosing): Promise<ClosedJob | null> {
    if (this.steps.length === 0) return this.jobs.close(closing);
    return this.jobs.transaction(async (transaction) => {
      const job = await this.jobs.close(closing, transaction);
      if (job) for (const step of this.steps) await step.close(transaction, job);
      return job;
    });
  }
}
