import type { JobsRepository } from '../jobs.repository.js';
import { closeDead, type CloseDeadOptions, type Verdict } from './close-dead.js';
import type { Sweep } from './sweep.js';

export interface ExpireOverdueOptions extends CloseDeadOptions {
  jobs: JobsRepository;
  /** How long after its deadline a row waits for its outcome: the worker stops at the deadline and reports usage. */
  graceMs: number;
}

const batch = 500;
const expired: Verdict = {
  state: 'expired',
  code: 'REQUEST_TIMEOUT',
  message: 'The request was not answered within its deadline.',
};

/** Expires open rows past their deadline. Compare-and-set lets one process win. */
export class ExpireOverdueSweep implements Sweep {
  readonly name = 'expire-overdue';

  constructor(private readonly options: ExpireOverdueOptions) {}

  async run(): Promise<number> {
    let count = 0;
    for (const job of await this.options.jobs.findOverdue(this.options.graceMs, batch)) {
      if (await closeDead(job, expired, this.options)) count += 1;
    }
    return count;
  }
}
