import { DeleteExpiredSessionsSweep } from '#accounts';
import { FoldKeyDaysSweep, FoldUsageSweep } from '#billing';
import { DeleteOldInstallationsSweep } from '#model-registry/installations';
import { OpsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { DeleteExpiredWindowsSweep, LimitStore, PostgresLimitStore } from '#rate-limit';
import { DeleteStoredResponsesSweep } from '../idempotency/delete-stored-responses.sweep.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { DeleteExpiredLinksSweep } from '../media/downloads/delete-expired-links.sweep.js';
import { DeleteExpiredResponsesSweep } from '../response-states/delete-expired-responses.sweep.js';
import { DeleteExpiredSignaturesSweep } from '../signatures/delete-expired-signatures.sweep.js';
import { DeleteClosedJobsSweep } from './delete-closed-jobs.sweep.js';
import { DeleteExpiredArtifactsSweep } from './delete-expired-artifacts.sweep.js';
import type { Sweep } from './sweep.js';
import { SweepMetrics } from './sweep.metrics.js';
import { SweepRunner } from './sweep-runner.js';

/** Deletes what has expired. It is separate from the repairs, since the artifact store may not respond for minutes. */
@Injectable()
export class CleanupSweeps extends SweepRunner {
  constructor(
    storedResponses: DeleteStoredResponsesSweep,
    expiredResponses: DeleteExpiredResponsesSweep,
    signatures: DeleteExpiredSignaturesSweep,
    links: DeleteExpiredLinksSweep,
    keyDays: FoldKeyDaysSweep,
    usage: FoldUsageSweep,
    consoleSessions: DeleteExpiredSessionsSweep,
    installations: DeleteOldInstallationsSweep,
    artifacts: DeleteExpiredArtifactsSweep,
    limits: LimitStore,
    jobs: JobsRepository,
    { sweepIntervalMs: intervalMs, jobRetentionDays: days, storageLifetimeMs }: OpsConfig,
    logger: Logger,
    { onRun }: SweepMetrics,
  ) {
    const sweeps: Sweep[] = [
      storedResponses,
      expiredResponses,
      signatures,
      links,
      ...(limits instanceof PostgresLimitStore ? [new DeleteExpiredWindowsSweep(limits)] : []),
      keyDays,
      // Before jobs are deleted, whose tokens it sums up.
      usage,
      consoleSessions,
      installations,
      ...(days > 0 ? [new DeleteClosedJobsSweep(jobs, { days, storageLifetimeMs })] : []),
      // This sweep comes last, because its store may not respond for minutes.
      artifacts,
    ];
    super({ sweeps, intervalMs, logger, onRun });
  }
}
