export { JobCatalog } from '../lifecycle/job-catalog.js';
export { CleanupSweeps } from '../recovery/cleanup-sweeps.js';
export { KnownQueues } from '../recovery/known-queues.js';
export { RepairSweeps } from '../recovery/repair-sweeps.js';
export { AdmissionModule } from './admission.module.js';
export { JobResultProcessingModule } from './job-result-processing.module.js';
export { JobsModule } from './jobs.module.js';
export { RecoveryModule } from './recovery.module.js';
