export { RateLimitsController } from './rate-limits.controller.js';
export * from './rate-limits.service.js';
