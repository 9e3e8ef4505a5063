export { type BackupOptions, createBackup, type HomeFile } from './create-backup.js';
export { clearDatabase } from './database/load.js';
export { backedUpTables, omittedTables } from './database/tables.js';
export type { BackupManifest } from './manifest.js';
export { refuse } from './refusal.js';
export { assertRestorable, restoreBackup, type RestoreOptions, type RestoreResult } from './restore-backup.js';
export { verifyBackup } from './verify-backup.js';
export { timeInName } from './time-in-name.js';
