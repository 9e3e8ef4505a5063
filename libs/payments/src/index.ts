export type {
  Facilitator,
  OnChain,
  PaymentChain,
  PaymentNetwork,
  PaymentTerms,
  Settlement,
  SignedPayment,
  Verification,
} from './facilitator/facilitator.js';
