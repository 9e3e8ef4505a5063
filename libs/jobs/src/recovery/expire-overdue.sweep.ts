import type { Clock } from '#common';
import type { FoundJob, JobsRepository, OpenJob } from '../lifecycle/jobs.repository.js';
import { closeDead, type CloseDeadOptions, type Decision } from './close-dead.js';
import { pagesOf } from './paged-rows.js';
import { repairAll } from './repair-all.js';
import { SuspectTracker } from './suspect-tracker.js';
import { confirmLost } from './confirm-lost.js';
import type { Sweep } from './sweep.js';

export interface ExpireOverdueOptions extends CloseDeadOptions {
  jobs: JobsRepository;
  /** How long after its deadline a row waits for its result: the worker stops at the deadline and reports usage. */
  graceMs: number;
  /** How long a row must be seen overdue while results flow, because after an outage the results come first. */
  confirmMs: number;
  /** See `ResultBacklog.flows`. */
  resultBacklog: () => Promise<boolean>;
  /** Page size of a read; default: 500. */
  pageRows?: number;
  clock?: Clock;
}

const expired: Decision = {
  state: 'expired',
  code: 'REQUEST_TIMEOUT',
  message: 'The request was not answered within its deadline.',
};

/** Expires open rows past their deadline. Compare-and-set lets one process win. */
export class ExpireOverdueSweep implements Sweep {
  readonly name = 'expire-overdue';
  private readonly suspects: SuspectTracker;

  constructor(private readonly options: ExpireOverdueOptions) {
    this.suspects = new SuspectTracker(options.confirmMs, options.clock);
  }

  async run(): Promise<number> {
    const { resultBacklog, logger } = this.options;
    const overdue = await confirmLost(() => this.findOverdue(), { resultBacklog, suspects: [this.suspects] });
    const repair = (job: OpenJob) => closeDead(job, expired, this.options);
    return repairAll(this.suspects.confirmJobs(overdue), { repair, logger });
  }

  private async findOverdue(): Promise<OpenJob[]> {
    const { jobs, graceMs, pageRows } = this.options;
    const read = (rows: number, after: FoundJob | null) => jobs.findOverdue(graceMs, { rows, after });
    const overdue: OpenJob[] = [];
    for await (const page of pagesOf(read, { rows: pageRows })) overdue.push(...page);
    return overdue;
  }
}
