import { Injectable } from '#platform/injection';
import { Metrics } from '#platform/metrics';
import type { RefusalReason } from './refusal.js';

/** `sluice_requests_rate_limited_total` */
@Injectable()
export class RefusalCounter {
  private readonly refused: ReturnType<Metrics['counter']>;

  constructor(metrics: Metrics) {
    this.refused = metrics.counter('sluice_requests_rate_limited_total', 'Requests rejected by a rate limit.', [
      'reason',
    ]);
  }

  count(reason: RefusalReason): void {
    this.refused.inc({ reason });
  }
}
