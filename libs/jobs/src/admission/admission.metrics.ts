import { MoneyMetrics } from '#billing';
import type { ErrorCode } from '#common';
import { Injectable } from '#platform/injection';
import { Metrics } from '#platform/metrics';
import type { AdmittedJob } from '../lifecycle/job-states.js';
import type { OpenRequest } from './open-request.js';

/** Counts what becomes of requests that are valid and within their limits, and what is reserved for them. */
@Injectable()
export class AdmissionMetrics {
  private readonly decisions;

  constructor(
    metrics: Metrics,
    private readonly money: MoneyMetrics,
  ) {
    this.decisions = metrics.counter(
      'sluice_admission_decisions_total',
      'Requests admitted (`admitted`) or rejected (error code) by admission: balance, capacity, stores.',
      ['modality', 'model', 'reason'],
    );
  }

  /** Call it once for every request, with `admitted` or the error code of the refusal. */
  decided({ definition, modelId }: OpenRequest, reason: 'admitted' | ErrorCode): void {
    this.decisions.inc({ modality: definition.modality, model: modelId, reason });
  }

  /** Call it for every job when its row is written. */
  written(job: AdmittedJob, quote: unknown): void {
    this.money.reserved(job, quote);
  }
}
