import { GroupCommit } from './group-commit.js';
import type { ClosedJob, ClosedListener, ClosingStep, JobClosing } from './job-states.js';
import type { JobsRepository } from './jobs.repository.js';

const groups = { lanes: 4, most: 64 };

/**
 * The one way a row is closed. Whoever wins the compare-and-set runs the steps, in the same transaction; everybody
 * else changes nothing, so closing twice is as good as once. What ends at the same time shares a transaction.
 */
export class JobCloser {
  private readonly group: GroupCommit<JobClosing, ClosedJob | null>;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly steps: readonly ClosingStep[] = [],
    private readonly listeners: readonly ClosedListener[] = [],
  ) {
    this.group = new GroupCommit(
      (closings) => this.closeRows(closings),
      ({ requestId }) => requestId,
      groups,
    );
  }

  /** The closed row, or null when this closing does not count. */
  async close(closing: JobClosing): Promise<ClosedJob | null> {
    const job = await this.group.add(closing);
    if (job) for (const listener of this.listeners) listener(job);
    return job;
  }

  private closeRows(closings: readonly JobClosing[]): Promise<(ClosedJob | null)[]> {
    return this.jobs.transaction(async (transaction) => {
      const results = await this.jobs.close(closings, transaction);
      const closed = results.filter((job) => job !== null);
      if (closed.length > 0) for (const step of this.steps) await step.close(transaction, closed);
      return results;
    });
  }
}
