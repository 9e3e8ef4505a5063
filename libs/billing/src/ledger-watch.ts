import { setTimeout as sleep } from 'node:timers/promises';
import { nanosPerUsd } from '#common';
import { OpsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { countsOf, isConsistent, LedgerService } from './ledger.service.js';
import type { VerifyReport } from './ledger.repository.js';

/** Verifies the whole ledger; the process provides it. */
export abstract class LedgerVerifier {
  abstract verify(): Promise<VerifyReport>;
}

/**
 * Monitors the ledger: open reservations at every scrape, and a full verification from time to time. A broken invariant
 * is an error in the log and a non-zero metric.
 */
@Injectable()
export class LedgerWatch {
  private report: VerifyReport | null = null;
  private provedAtSeconds = 0;
  private tookSeconds = 0;
  private timer: NodeJS.Timeout | null = null;
  private proving: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(
    private readonly ledger: LedgerService,
    private readonly verifier: LedgerVerifier,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    /** `ledgerVerifyMs`: the interval between two verifications; 0: never. */
    private readonly config: OpsConfig,
  ) {
    this.showReservations();
    if (config.ledgerVerifyMs > 0) this.showProof();
  }

  /** Starts the first verification immediately. */
  start(): void {
    if (this.config.ledgerVerifyMs > 0) this.proving = this.prove();
  }

  /**
   * A verification changes nothing and takes minutes on a large ledger: a running one is awaited for at most
   * `maxWaitMs`.
   */
  async close(maxWaitMs = 1_000): Promise<void> {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await Promise.race([this.proving, sleep(maxWaitMs, undefined, { ref: false })]);
  }

  private async prove(): Promise<void> {
    const { verifier, logger, config } = this;
    const startedAt = performance.now();
    try {
      this.report = await verifier.verify();
      this.provedAtSeconds = Date.now() / 1_000;
      this.tookSeconds = (performance.now() - startedAt) / 1_000;
      if (!isConsistent(this.report)) {
        logger.error({ breaks: countsOf(this.report) }, 'the ledger is broken: see `sluice ledger verify`');
      }
    } catch (error) {
      if (!this.closed) logger.warn({ error }, 'the ledger could not be verified, it will be tried again');
    }
    if (this.closed) return;
    this.timer = setTimeout(() => {
      this.proving = this.prove();
    }, config.ledgerVerifyMs);
  }

  private showReservations(): void {
    const { metrics, ledger } = this;
    metrics.observedGauge({
      name: 'sluice_ledger_open_reservations',
      help: 'Reservations of open jobs; the same from every replica.',
      labelNames: [],
      read: async (observe) => observe({}, (await ledger.openReservations()).count),
    });
    metrics.observedGauge({
      name: 'sluice_ledger_open_reservations_usd',
      help: 'Total of open reservations in USD, DIEM counted as such; the same from every replica.',
      labelNames: [],
      read: async (observe) => observe({}, Number((await ledger.openReservations()).heldNano) / Number(nanosPerUsd)),
    });
  }

  private showProof(): void {
    const { metrics } = this;
    metrics.observedGauge({
      name: 'sluice_ledger_broken_invariants',
      help: 'Broken invariants found by the latest verification of the ledger: each must be 0. Empty until the first one.',
      labelNames: ['check'],
      read: (observe) => {
        for (const [check, count] of Object.entries(this.report === null ? {} : countsOf(this.report)))
          observe({ check }, count);
      },
    });
    metrics.observedGauge({
      name: 'sluice_ledger_last_verified_timestamp_seconds',
      help: 'When the ledger was last verified; 0: not yet.',
      labelNames: [],
      read: (observe) => observe({}, this.provedAtSeconds),
    });
    metrics.observedGauge({
      name: 'sluice_ledger_verification_duration_seconds',
      help: 'Duration of the last verification.',
      labelNames: [],
      read: (observe) => observe({}, this.tookSeconds),
    });
  }
}
