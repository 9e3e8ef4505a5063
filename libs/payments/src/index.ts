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
export { type Offer, PaymentOffers, type Requirement } from './offers.js';
export { AccountTopUpsRepository } from './top-ups/account-top-ups.repository.js';
export { TopUpService } from './top-ups/top-up.service.js';
export type { TopUp, TopUpState } from './top-ups/top-up.js';
export { type TopUpCount, TopUpsRepository } from './top-ups/top-ups.repository.js';
