export * from './accounts.service.js';
export type { ApiKeyKind, ApiKeyRecord } from './api-key.js';
