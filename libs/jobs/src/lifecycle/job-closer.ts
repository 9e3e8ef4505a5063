import { GroupCommit } from '../admission/group-commit.js';
import type { ClosedJob, ClosedListener, ClosingStep, JobClosing, JobTransaction } from './job-states.js';
import type { JobsRepository } from './jobs.repository.js';

const groups = { lanes: 4, max: 64 };
/** The number of lanes. With so many, closings in progress rarely keep others waiting. */
const gatheringLanes = 2;

export interface JobCloserOptions {
  /**
   * How long closings gather before one transaction closes them all, in ms; for a process in which nothing awaits them.
   * Default: those that arrive while others are in progress.
   */
  gatherMs?: number;
}

/**
 * The only way to close a row. The winner of the compare-and-set runs the steps, in the same transaction; everyone else
 * changes nothing, so closing twice equals closing once. Jobs that end together share a transaction.
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

  /** Returns the closed row, or null when this closing does not count. */
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

/** Returns a transaction for steps that others follow: none of its statements may be the last. */
function staying(transaction: JobTransaction): JobTransaction {
  return {
    $queryRaw: (text, ...values) => transaction.$queryRaw(text, ...values),
    $executeRaw: (text, ...values) => transaction.$executeRaw(text, ...values),
  };
}
