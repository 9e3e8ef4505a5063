export { checkPayments, type PaymentCheck } from '../facilitator/check-payments.js';
