import { SettlementStep } from '#billing';
import { Injectable } from '#platform/injection';
import { TokenCorrector } from '#rate-limit';
import { correctReservedTokens } from '../admission/token-correction.js';
import { JobCloser } from './job-closer.js';
import { JobsRepository } from './jobs.repository.js';

/** Closes the jobs that an api replica admitted in vain or ran itself: the row, its money, its reserved tokens. */
@Injectable()
export class ReplicaJobCloser extends JobCloser {
  constructor(jobs: JobsRepository, settlement: SettlementStep, corrector: TokenCorrector) {
    super(jobs, [settlement], [correctReservedTokens(corrector), settlement.afterwards]);
  }
}
