export { BillingApiModule } from './billing-api.module.js';
