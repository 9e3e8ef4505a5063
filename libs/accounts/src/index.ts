export * from './accounts.service.js';
export type { AccountTier, ApiKeyKind, ApiKeyRecord, ModelPrivacy } from './api-key.js';
