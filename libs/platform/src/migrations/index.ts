export * from './migrate.js';
export * from './migration-check.js';
export { type MigrationFile, readMigrations } from './migration-files.js';
export * from './queue-role.js';
