export { BillingModule, JobMeter } from './billing.module.js';
