export type { ExchangeSigning, SignedRun } from './exchange-signing.js';
