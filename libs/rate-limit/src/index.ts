export {
  checkOverride,
  everything,
  maxConcurrent,
  type LimitOverride,
  maxRequests,
  maxTokens,
  targetOfModel,
} from './limits/limit-override.js';
export { type CreditDecision, CreditLimiter, type ReachedLimit } from './credit-limiter.js';
export { OpenRequests } from './open-requests.js';
export { LimitOverridesRepository } from './limits/limit-overrides.repository.js';
export { limitClasses, limitClassOf, type Limits, limitTable, turnWeights } from './limits/limit-table.js';
export { type LimitDecision, type LimitedCaller, RateLimiter, type RequestsInAdvance } from './rate-limiter.js';
export { DeleteExpiredWindowsSweep } from './store/delete-expired-windows.sweep.js';
export { LimitStore } from './store/limit-store.js';
export { advanceMs } from './store/limit-window.js';
export { PostgresLimitStore } from './store/postgres-limit.repository.js';
export { type ReservedTokens, TokenCorrector, TokenReservation } from './token-reservation.js';
