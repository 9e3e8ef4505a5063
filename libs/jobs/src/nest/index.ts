export { AdmissionModule } from './admission.module.js';
export { JobsModule } from './jobs.module.js';
export { JobCatalog, JobResultProcessingModule } from './job-result-processing.module.js';
export { CleanupSweeps, KnownQueues, RecoveryModule, RepairSweeps } from './recovery.module.js';
