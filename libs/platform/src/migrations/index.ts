export * from './migrate.js';
export * from './migration-check.js';
export * from './queue-role.js';
