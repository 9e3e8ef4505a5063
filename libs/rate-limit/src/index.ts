export * from './limits/limit-override.js';
export { LimitOverridesRepository } from './limits/limit-overrides.repository.js';
export * from './limits/limit-table.js';
