import { Injectable } from '#platform/injection';
import { Metrics } from '#platform/metrics';

/** Counts what sweeps find and how often they fail. */
@Injectable()
export class SweepMetrics {
  private readonly found;
  private readonly failures;

  constructor(metrics: Metrics) {
    this.found = metrics.counter('sluice_sweep_rows_total', 'Rows repaired by a sweep.', ['sweep']);
    this.failures = metrics.counter('sluice_sweep_failures_total', 'Sweeps that failed.', ['sweep']);
  }

  readonly onRun = (sweep: string, count: number | null): void =>
    count === null ? this.failures.inc({ sweep }) : this.found.inc({ sweep }, count);
}
