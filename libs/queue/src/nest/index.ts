export { JobResultsModule } from './job-results.module.js';
export { QueueModule } from './queue.module.js';
