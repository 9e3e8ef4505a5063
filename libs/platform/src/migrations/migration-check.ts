import pg from 'pg';
import { PlatformError } from '#common';
import { projectMigrationsFolder } from './migrate.js';
import { readMigrations } from './migration-files.js';

/** Query timeout of the check, in ms, at most that of readiness. */
const timeoutMs = 1_500;

const noSuchTable = '42P01';
/** A role without access to the history cannot tell; the check then passes. */
const notAllowed = '42501';

export interface MigrationCheckOptions {
  url: string;
  /** Prisma's `migrations` folder; default: that of this project. */
  folder?: string;
}

/**
 * Checks that the database has every migration of this version. Additional migrations are fine: processes of the old
 * version continue during a rollout. Stops querying once it passes.
 */
export class MigrationCheck {
  private isComplete = false;

  constructor(private readonly options: MigrationCheckOptions) {}

  /** Readiness check. Rejects with a `PlatformError` that says what to do while migrations are missing. */
  async check(): Promise<void> {
    if (this.isComplete) return;
    const [files, applied] = await Promise.all([
      readMigrations(this.options.folder ?? projectMigrationsFolder()),
      this.applied(),
    ]);
    const missing = files.filter(({ name }) => applied !== null && !applied.has(name));
    if (missing.length > 0) {
      throw new PlatformError(
        'SERVICE_UNAVAILABLE',
        `The database is behind: ${missing.length} migrations of this version are missing, from ${missing[0]?.name} on. ` +
          'Run `sluice migrate` (on Kubernetes the job sluice-migrate).',
      );
    }
    this.isComplete = true;
  }

  /** Returns the names of applied migrations; null if they cannot be read. */
  private async applied(): Promise<Set<string> | null> {
    const client = new pg.Client({
      connectionString: this.options.url,
      application_name: 'sluice-readiness',
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    });
    // A connection that breaks between two steps must not end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ name: string }>(
        `SELECT migration_name AS name FROM "_prisma_migrations" WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
      );
      return new Set(rows.map(({ name }) => name));
    } catch (error) {
      const code = error instanceof pg.DatabaseError ? error.code : undefined;
      if (code === noSuchTable) return new Set();
      if (code === notAllowed) return null;
      throw error;
    } finally {
      // Not awaited: a dead server would block the check.
      client.end().catch(() => undefined);
    }
  }
}
