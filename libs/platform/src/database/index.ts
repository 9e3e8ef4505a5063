export { maxConnections } from './connection-counts.js';
export { type DatabaseExamination, examineDatabase, minimumPostgresVersion } from './examine-database.js';
