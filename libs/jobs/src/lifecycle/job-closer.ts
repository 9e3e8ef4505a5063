import { GroupCommit } from '../admission/group-commit.js';
import type { ClosedJob, ClosedListener, ClosingStep, JobClosing, JobTransaction } from './job-states.js';
import type { JobsRepository } from './jobs.repository.js';

const groups = { lanes: 4, max: 64 };
/** Where closings gather, those that are under way hardly ever keep others waiting. */
const gatheringLanes = 2;

export interface JobCloserOptions {
  /**
   * How long closings gather before one transaction closes them all, in ms; for a process in which nobody waits for them.
   * Default: those that come while others are under way.
   */
  gatherMs?: number;
}

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
    { gatherMs }: JobCloserOptions = {},
  ) {
    this.group = new GroupCommit(
      (closings) => this.closeRows(closings),
      ({ requestId }) => requestId,
      gatherMs === undefined ? groups : { ...groups, lanes: gatheringLanes, gatherMs },
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
      if (closed.length === 0) return results;
      for (const [position, step] of this.steps.entries()) {
        await step.close(position === this.steps.length - 1 ? transaction : staying(transaction), closed);
      }
      return results;
    });
  }
}

/** For steps that others follow: none of its statements can be the last. */
function staying(transaction: JobTransaction): JobTransaction {
  return {
    $queryRaw: (text, ...values) => transaction.$queryRaw(text, ...values),
    $executeRaw: (text, ...values) => transaction.$executeRaw(text, ...values),
  };
}
