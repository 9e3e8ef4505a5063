export { PaymentsApiModule } from './payments-api.module.js';
