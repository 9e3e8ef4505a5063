import { createRequire } from 'node:module';
import type * as BullMQ from 'bullmq';

/*
 * BullMQ itself, loaded by `require`. It is CommonJS: an `import` first reads and parses each of its 170 files for
 * their exported names, which costs an eighth of a second of processor time at each start of each process.
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
