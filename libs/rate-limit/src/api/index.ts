export { RateLimitsApiModule } from './rate-limits-api.module.js';
export { LimitFacts } from './rate-limits.service.js';
