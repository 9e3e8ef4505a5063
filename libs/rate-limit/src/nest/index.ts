export { LimitStoreModule } from './limit-store.module.js';
export { RateLimitModule } from './rate-limit.module.js';
