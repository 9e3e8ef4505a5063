export type {
  PaymentDiscovery,
  PaymentOfferDocument,
  SignInChallengeDocument,
  WalletPaymentRequired,
} from './payment-document.js';
export { Wallets } from './wallet-route.js';
