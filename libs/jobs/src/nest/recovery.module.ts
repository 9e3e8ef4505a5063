import { Module } from '@nestjs/common';
import { ConsoleSessionsRepository, DeleteExpiredSessionsSweep } from '#accounts';
import { FoldKeyDaysSweep, FoldUsageSweep } from '#billing';
import { BillingModule } from '#billing/nest';
import { DeleteOldInstallationsSweep, InstallationRepository } from '#model-registry/installations';
import { LimitStoreModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { DeleteStoredResponsesSweep } from '../idempotency/delete-stored-responses.sweep.js';
import { DeleteExpiredLinksSweep } from '../media/downloads/delete-expired-links.sweep.js';
import { ProgressRecorder } from '../media/progress-recorder.js';
import { CleanupSweeps } from '../recovery/cleanup-sweeps.js';
import { DeleteExpiredArtifactsSweep } from '../recovery/delete-expired-artifacts.sweep.js';
import { RepairDependencies } from '../recovery/repair-dependencies.js';
import { RepairSweeps } from '../recovery/repair-sweeps.js';
import { ResultBacklog } from '../recovery/result-backlog.js';
import { SweepMetrics } from '../recovery/sweep.metrics.js';
import { DeleteExpiredResponsesSweep } from '../response-states/delete-expired-responses.sweep.js';
import { DeleteExpiredSignaturesSweep } from '../signatures/delete-expired-signatures.sweep.js';
import { JobResultProcessingModule } from './job-result-processing.module.js';
import { JobsModule } from './jobs.module.js';

/**
 * The sweeps run on timers of this process and not as BullMQ jobs: they rebuild the queue when its store has lost it, and
 * go on while it is down (docs/decisions/nest-modules.md).
 */
@Module({
  imports: [JobsModule, JobResultProcessingModule, BillingModule, LimitStoreModule, StorageModule],
  providers: [
    SweepMetrics,
    ResultBacklog,
    RepairDependencies,
    RepairSweeps,
    DeleteStoredResponsesSweep,
    DeleteExpiredResponsesSweep,
    DeleteExpiredSignaturesSweep,
    DeleteExpiredLinksSweep,
    DeleteExpiredArtifactsSweep,
    FoldKeyDaysSweep,
    FoldUsageSweep,
    ConsoleSessionsRepository,
    DeleteExpiredSessionsSweep,
    InstallationRepository,
    DeleteOldInstallationsSweep,
    CleanupSweeps,
    ProgressRecorder,
  ],
  exports: [JobsModule, RepairSweeps, CleanupSweeps, ResultBacklog, ProgressRecorder],
})
export class RecoveryModule {}
