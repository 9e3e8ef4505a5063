export * from './delete-stored-responses.sweep.js';
export { IdempotencyRepository, type KeyedRequest } from './idempotency.repository.js';
export * from './idempotency.service.js';
export type { ClaimEnding, KeyClaim } from './key-claim.js';
export type { StoredResponse } from './stored-response.js';
