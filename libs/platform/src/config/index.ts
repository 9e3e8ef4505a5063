export * from './app.configs.js';
export * from './base.config.js';
export * from './child-environment.js';
export * from './load-config.js';
export type { MemoryBudgetSetting } from './memory-budget.js';
export * from './tracing.config.js';
export * from './variable.js';
