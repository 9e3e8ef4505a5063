export * from './embedded-postgres.js';
export { saysDiskFull } from './server-output.js';
