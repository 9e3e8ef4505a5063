export { JobMeter } from '../job-meter.js';
export { BillingModule } from './billing.module.js';
