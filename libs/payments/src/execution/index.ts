export type { Facilitator, PaymentChain } from '../facilitator/facilitator.js';
