import { type NanoUsd, nanosPerUsd } from '#common';
import { Injectable } from '#platform/injection';
import { Metrics } from '#platform/metrics';
import { JobQuote } from './job-quote.js';
import type { Closed } from './ledger.repository.js';

/**
 * Amounts posted by this process since its start, in USD, for graphs; added after the transaction. The ledger is the
 * source of truth.
 */
@Injectable()
export class MoneyMetrics {
  private readonly reservedUsd;
  private readonly settledUsd;
  private readonly releasedUsd;
  private readonly reservationsClosed;

  constructor(metrics: Metrics) {
    const labels = ['modality', 'model'] as const;
    this.reservedUsd = metrics.counter('sluice_ledger_reserved_usd_total', 'Reserved for admitted jobs.', labels);
    this.settledUsd = metrics.counter('sluice_ledger_settled_usd_total', 'Charged for closed jobs.', labels);
    this.releasedUsd = metrics.counter(
      'sluice_ledger_released_usd_total',
      'Refunded from the reservations of closed jobs.',
      labels,
    );
    this.reservationsClosed = metrics.counter(
      'sluice_ledger_reservations_closed_total',
      'Reservations closed, by result.',
      [...labels, 'result'],
    );
  }

  /** `quote` is that of an admitted job; without one, nothing was reserved. */
  reserved({ modality, modelId: model }: { modality: string; modelId: string }, quote: unknown): void {
    if (quote instanceof JobQuote) this.reservedUsd.inc({ modality, model }, usd(quote.amountNano));
  }

  closed({ modality, modelId: model }: { modality: string; modelId: string }, closed: Closed): void {
    const { result, chargedNano, heldNano } = closed;
    this.reservationsClosed.inc({ modality, model, result });
    if (result !== 'settled' && result !== 'released') return;
    const charged = chargedNano ?? 0n;
    this.settledUsd.inc({ modality, model }, usd(charged));
    this.releasedUsd.inc({ modality, model }, usd(heldNano - charged));
  }
}

function usd(amountNano: NanoUsd): number {
  return Number(amountNano) / Number(nanosPerUsd);
}
