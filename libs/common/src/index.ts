export * from './clock.js';
export * from './derived-key.js';
export * from './errors/error-table.js';
export * from './errors/platform-error.js';
export * from './money.js';
export * from './process-alive.js';
export * from './request-id.js';
export * from './usage.js';
