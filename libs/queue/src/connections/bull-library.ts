import { createRequire } from 'node:module';
import type * as BullMQ from 'bullmq';

/*
 * BullMQ itself, loaded by `require`: it is CommonJS, and an `import` first reads and parses each of its 170 files for
 * their exported names, an eighth of a second of processor time at each start of each process.
 */
export const {
  assertSchemaCompatibility,
  createRedisBackend,
  DelayedError,
  LATEST_SCHEMA_VERSION,
  PostgresConnection,
  PostgresQueueBackend,
  Queue,
  quoteSchemaName,
  runMigrations,
  SchemaMigrationRequiredError,
  UnrecoverableError,
  WaitingError,
  Worker,
} = createRequire(import.meta.url)('bullmq') as typeof BullMQ;
