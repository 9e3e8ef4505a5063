import { SettlementStep } from '#billing';
import { Injectable, Optional } from '#platform/injection';
import { TokenCorrector } from '#rate-limit';
import { correctReservedTokens } from '../admission/token-correction.js';
import { MediaClosing } from '../media/media-closing.js';
import { JobCloser, type JobCloserOptions } from './job-closer.js';
import { JobsRepository } from './jobs.repository.js';

/** Does everything that the end of a job asks for: the row, its media, its money, its reserved tokens. */
@Injectable()
export class OpsJobCloser extends JobCloser {
  constructor(
    jobs: JobsRepository,
    media: MediaClosing,
    settlement: SettlementStep,
    corrector: TokenCorrector,
    @Optional() options?: JobCloserOptions,
  ) {
    const listeners = [correctReservedTokens(corrector), media.afterwards, settlement.afterwards];
    // Ledger updates come last, because they lock the accounts.
    super(jobs, [media, settlement], listeners, options);
  }
}

/** Clients have their responses before the results are written, so results can be gathered for a moment, in ms. */
const gatherMs = 10;

/** The same for the results that workers report, which many share a transaction. */
@Injectable()
export class ResultJobCloser extends OpsJobCloser {
  constructor(jobs: JobsRepository, media: MediaClosing, settlement: SettlementStep, corrector: TokenCorrector) {
    super(jobs, media, settlement, corrector, { gatherMs });
  }
}
