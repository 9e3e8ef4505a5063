export { AccountsRepository } from './accounts.repository.js';
export { AccountsService, type BootstrapKeys, type Caller } from './accounts.service.js';
export {
  type Account,
  type AccountTier,
  type ApiKeyKind,
  type ApiKeyRecord,
  largestLimit,
  type LimitPeriod,
  type ModelPrivacy,
  storedLimit,
} from './api-key.js';
export { ApiKeysService } from './keys/api-keys.service.js';
export { expiryMoment } from './keys/expiry-moment.js';
export { KeyUsageReader } from './keys/key-usage.js';
export { ConsoleLinksService } from './sessions/console-links.service.js';
export { ConsoleSessionsRepository } from './sessions/console-sessions.repository.js';
export { type ConsoleSession, ConsoleSessionsService } from './sessions/console-sessions.service.js';
export { DeleteExpiredSessionsSweep } from './sessions/delete-expired-sessions.sweep.js';
export { csrfHeader, sessionTokensIn } from './sessions/session-cookie.js';
export { OnchainStakes } from './web3/onchain-stakes.js';
export { StakeLedger } from './web3/stake-reader.js';
export { StakeRefresher } from './web3/stake-refresher.js';
export { StakesRepository } from './web3/stakes.repository.js';
export { StakesService } from './web3/stakes.service.js';
export { WalletsRepository } from './web3/wallets.repository.js';
export { ContractSignatures } from './wallets/contract-signatures.js';
export { readWalletAddress } from './wallets/wallet-address.js';
export { SignInVerifier } from './wallets/sign-in-verifier.js';
export { signInHeader } from './wallets/refused-sign-in.js';
export { signInMs } from './wallets/sign-in-rules.js';
export { WalletKeysRepository } from './wallets/wallet-keys.repository.js';
export { WalletNoncesRepository } from './wallets/wallet-nonces.repository.js';
export { type WalletCaller, WalletCallers } from './wallets/wallet-callers.js';
export { base58Bytes, encodeBase58 } from './wallets/base58.js';
