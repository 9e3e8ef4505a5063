export { BillingController } from './billing.controller.js';
