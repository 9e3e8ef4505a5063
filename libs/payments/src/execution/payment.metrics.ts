import type { Metrics } from '#platform/metrics';
import type { TopUpsRepository } from '../top-ups/top-ups.repository.js';

/** States of payments, for graphs and alerts. */
export class PaymentMetrics {
  private readonly endedTotal;
  private readonly unknownTotal;

  constructor(metrics: Metrics, topUps: TopUpsRepository) {
    this.endedTotal = metrics.counter('sluice_top_ups_ended_total', 'Top-ups that this process ended, by result.', [
      'network',
      'result',
    ]);
    this.unknownTotal = metrics.counter(
      'sluice_top_up_looks_failed_total',
      'Looks at a top-up that failed, such as by an unreachable facilitator or node; each is repeated.',
      ['network'],
    );
    metrics.observedGauge({
      name: 'sluice_top_ups',
      help: 'Top-ups of the last day and all that are open, by state; the same from every replica.',
      labelNames: ['network', 'state'],
      read: async (observe) => {
        for (const { network, state, count } of await topUps.counts()) observe({ network, state }, count);
      },
    });
    metrics.observedGauge({
      name: 'sluice_top_ups_oldest_age_seconds',
      help: 'Age of the oldest top-up that has not ended; the same from every replica.',
      labelNames: ['network', 'state'],
      read: async (observe) => {
        for (const { network, state, oldestSeconds } of await topUps.counts()) {
          if (state === 'authorized' || state === 'pending') observe({ network, state }, oldestSeconds);
        }
      },
    });
  }

  ended(network: string, result: 'settled' | 'failed' | 'expired' | 'reversed'): void {
    this.endedTotal.inc({ network, result });
  }

  unknown(network: string): void {
    this.unknownTotal.inc({ network });
  }
}
