import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { ResultTickets } from '../tickets/result-tickets.js';
import { JobResultProcessor, resultRefusals } from './job-result.processor.js';
import { ResultJobCloser } from './ops-job-closer.js';

/** Counts closed jobs and refused results. */
@Injectable()
export class CountedResultProcessor extends JobResultProcessor {
  constructor(closer: ResultJobCloser, tickets: ResultTickets, logger: Logger, metrics: Metrics) {
    const closed = metrics.counter('sluice_jobs_closed_total', 'Jobs closed, by result.', [
      'modality',
      'model',
      'state',
      'code',
    ]);
    const refused = metrics.counter(
      'sluice_job_results_refused_total',
      'Job results that were refused: without a valid ticket, malformed, or with more usage than their job allows.',
      ['reason'],
    );
    for (const reason of resultRefusals) refused.inc({ reason }, 0);
    super({
      closer,
      tickets,
      logger,
      onRefused: (reason) => refused.inc({ reason }),
      onClosed: ({ modality, modelId, state, errorCode }) =>
        closed.inc({ modality, model: modelId, state, code: errorCode ?? '' }),
    });
  }
}
