import { OpsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { ExpireOverdueSweep } from './expire-overdue.sweep.js';
import { FailAbandonedSweep } from './fail-abandoned.sweep.js';
import { KnownQueues } from './known-queues.js';
import { RemoveClosedSweep } from './remove-closed.sweep.js';
import { RepairDependencies } from './repair-dependencies.js';
import { RequeueLostSweep } from './requeue-lost.sweep.js';
import { SweepMetrics } from './sweep.metrics.js';
import { SweepRunner } from './sweep-runner.js';

/** After its deadline a row waits this long for the result of a worker that stopped in time, in ms. */
const expireGraceMs = 15_000;

/** Repairs what was lost: jobs, workers, deadlines. */
@Injectable()
export class RepairSweeps extends SweepRunner {
  constructor(
    dependencies: RepairDependencies,
    queues: KnownQueues,
    { sweepIntervalMs: intervalMs, lostAfterMs }: OpsConfig,
    { onRun }: SweepMetrics,
  ) {
    const { jobs, producer, logger } = dependencies;
    const confirmMs = Math.min(intervalMs, 5_000);
    const sweeps = [
      new RequeueLostSweep({ ...dependencies, lostAfterMs, confirmMs }),
      new FailAbandonedSweep(dependencies),
      new ExpireOverdueSweep({ ...dependencies, graceMs: expireGraceMs, confirmMs }),
      new RemoveClosedSweep({ jobs, producer, queues: () => queues.list(), logger, confirmMs }),
    ];
    super({ sweeps, intervalMs, logger, onRun });
  }
}
