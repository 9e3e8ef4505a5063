export { JobResultsModule } from './job-results.module.js';
