import type { Clock } from '#common';
import type { JobsRepository } from '../jobs.repository.js';
import { closeDead, type CloseDeadOptions, type Verdict } from './close-dead.js';
import { Sightings } from './sightings.js';
import { sureLook } from './sure-look.js';
import type { Sweep } from './sweep.js';

export interface ExpireOverdueOptions extends CloseDeadOptions {
  jobs: JobsRepository;
  /** How long after its deadline a row waits for its outcome: the worker stops at the deadline and reports usage. */
  graceMs: number;
  /** For how long it must be seen overdue while outcomes flow: behind an outage, the outcomes come first. */
  confirmMs: number;
  /** As `OutcomeFlow.flows`. */
  outcomesFlow: () => Promise<boolean>;
  clock?: Clock;
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
  private readonly sightings: Sightings;

  constructor(private readonly options: ExpireOverdueOptions) {
    this.sightings = new Sightings(options.confirmMs, options.clock);
  }

  async run(): Promise<number> {
    const { jobs, graceMs, outcomesFlow } = this.options;
    const look = () => jobs.findOverdue(graceMs, batch);
    const overdue = await sureLook(look, { outcomesFlow, sightings: [this.sightings] });
    let count = 0;
    for (const job of this.sightings.confirmJobs(overdue)) {
      if (await closeDead(job, expired, this.options)) count += 1;
    }
    return count;
  }
}
