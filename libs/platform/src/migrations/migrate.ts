import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { errorText } from '#common/values';
import { StartRefusal } from '../process/index.js';
import { type MigrationFile, readMigrations } from './migration-files.js';

export interface MigrateOptions {
  /** URL of a role that may create tables. */
  url: string;
  /** Prisma's `migrations` folder; default: that of this project. */
  folder?: string | undefined;
  /** The last migration to apply; default: all. A restore migrates as far as its backup was. */
  through?: string | undefined;
  /** `isNew`: the database had none before, so this is not an upgrade. */
  onApplied?: (name: string, isNew: boolean) => void;
  /** Called when a migration waits for a lock and will be retried. */
  onLocked?: (name: string) => void;
  /** Lock timeout of each try, and pause before the next one, in ms; default: 5 s and 3 s. */
  locks?: { waitMs: number; pauseMs: number };
}

/**
 * A migration that waits for a table lock blocks all later queries on that table, so it gives up after a short time and
 * retries.
 */
const defaultLocks = { waitMs: 5_000, pauseMs: 3_000 };
const maxAttempts = 10;
const lockNotAvailable = '55P03';

/** A database that must not be migrated further; the message says what to do. */
export class MigrationError extends StartRefusal {
  override readonly name = 'MigrationError';
}

interface AppliedRow {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
  rolled_back_at: Date | null;
  logs: string | null;
}

// Prisma uses the same lock, so `prisma migrate deploy` and this runner exclude each other.
const advisoryLock = 72707369;

/** Overrides a statement timeout of the role (docs/operate/operations.md): migrations have no time limit. */
const noStatementTimeout = 'SET LOCAL statement_timeout = 0';

const createBookkeeping = `
  CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id" VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum" VARCHAR(64) NOT NULL,
    "finished_at" TIMESTAMPTZ,
    "migration_name" VARCHAR(255) NOT NULL,
    "logs" TEXT,
    "rolled_back_at" TIMESTAMPTZ,
    "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count" INTEGER NOT NULL DEFAULT 0
  )`;

/** The project's migrations, found from the sources and from `dist`. */
export function projectMigrationsFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const candidate = join(folder, 'prisma', 'migrations');
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) throw new MigrationError('The folder prisma/migrations is missing.');
  }
}

/**
 * Applies missing migrations, one transaction each, under an advisory lock, so that any number of processes may call it
 * at once. Resolves to the applied names. Rejects with a `MigrationError` if history and files disagree.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const files = await readMigrations(options.folder ?? projectMigrationsFolder());
  const client = new pg.Client({ connectionString: options.url, application_name: 'sluice-migrations' });
  // A broken connection rejects the current query; between queries the error would be unhandled and end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await acquireLock(client);
    await client.query(createBookkeeping);
    const { through } = options;
    const missing = (await missingMigrations(client, files)).filter(
      ({ name }) => through === undefined || name <= through,
    );
    for (const file of missing) {
      await applyWhenReady(client, file, options);
      options.onApplied?.(file.name, missing.length === files.length);
    }
    return missing.map((file) => file.name);
  } finally {
    // Ending the session releases the lock.
    await client.end();
  }
}

/** Another process may be running a long migration. */
async function acquireLock(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  await client.query(noStatementTimeout);
  await client.query('SELECT pg_advisory_lock($1)', [advisoryLock]);
  // The lock belongs to the session and stays.
  await client.query('COMMIT');
}

async function missingMigrations(client: pg.Client, files: MigrationFile[]): Promise<MigrationFile[]> {
  const { rows } = await client.query<AppliedRow>(
    `SELECT migration_name, checksum, finished_at, rolled_back_at, logs FROM "_prisma_migrations" ORDER BY started_at`,
  );
  const history = rows.filter((row) => row.rolled_back_at === null);
  for (const row of history) checkHistory(row, files);
  const applied = new Set(history.map((row) => row.migration_name));
  const missing = files.filter((file) => !applied.has(file.name));
  const newest = [...applied].sort().at(-1);
  const late = missing.find((file) => newest !== undefined && file.name < newest);
  if (late) {
    throw new MigrationError(
      `Migration ${late.name} is older than ${newest}, which is already applied. Give it a newer name.`,
    );
  }
  return missing;
}

function checkHistory(row: AppliedRow, files: MigrationFile[]): void {
  const name = row.migration_name;
  if (row.finished_at === null) {
    throw new MigrationError(
      `Migration ${name} failed on this database${row.logs ? `: ${row.logs}` : ''}. Repair the database, then run ` +
        `"npx prisma migrate resolve --rolled-back ${name}" or delete its row from _prisma_migrations, and start again.`,
    );
  }
  const file = files.find((candidate) => candidate.name === name);
  if (!file) {
    throw new MigrationError(
      `This database has migration ${name}, which this version does not know: it was made by a newer version. ` +
        'Start that version, or restore a backup.',
    );
  }
  if (file.checksum !== row.checksum) {
    throw new MigrationError(
      `Migration ${name} was changed after it was applied. Restore the file, and put the change into a new migration.`,
    );
  }
}

async function applyWhenReady(client: pg.Client, file: MigrationFile, options: MigrateOptions): Promise<void> {
  const { locks = defaultLocks, onLocked } = options;
  for (let tries = 1; ; tries += 1) {
    try {
      return await apply(client, file, locks.waitMs);
    } catch (error) {
      const cause = error instanceof Error ? error.cause : null;
      if (!(cause instanceof pg.DatabaseError) || cause.code !== lockNotAvailable || tries === maxAttempts) throw error;
      onLocked?.(file.name);
      await sleep(locks.pauseMs);
    }
  }
}

/** Migration and history row share one transaction, so that an interrupted run leaves neither. */
async function apply(client: pg.Client, file: MigrationFile, lockWaitMs: number): Promise<void> {
  try {
    await client.query('BEGIN');
    await client.query(`SET LOCAL lock_timeout = ${lockWaitMs}`);
    await client.query(noStatementTimeout);
    await client.query(file.sql);
    await client.query(
      `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
       VALUES ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), file.checksum, file.name],
    );
    await client.query('COMMIT');
  } catch (error) {
    // If the connection is gone, the server rolls back itself.
    await client.query('ROLLBACK').catch(() => undefined);
    const reason = errorText(error);
    throw new MigrationError(`Migration ${file.name} could not be applied: ${reason}`, { cause: error });
  }
}
