export * from './migrate.js';
export * from './queue-role.js';
