import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import { migrate } from '#platform/migrations';
import { runOnServer, withDatabase } from './postgres-server.js';
import './global-services.js';

export { runOnServer, startPostgres, type TestPostgres, withDatabase } from './postgres-server.js';

/** A database for one test on the shared server. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

const template = 'sluice_template';

/** Creates an empty database; suites run in parallel, each in its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase('template1');
}

/** Creates a database with the project's tables, copied from a template that is migrated once per server. */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  await ensureTemplate(inject('postgresUrl'));
  return createDatabase(template);
}

/** Creates and migrates a database on a test's own server; it is deleted with the server. */
export async function createDatabaseOn(serverUrl: string): Promise<TestDatabase> {
  await runOnServer(serverUrl, 'CREATE DATABASE sluice');
  const url = withDatabase(serverUrl, 'sluice');
  await migrate({ url });
  return { url, drop: () => dropDatabase(serverUrl, 'sluice') };
}

async function createDatabase(from: string): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runOnServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${from}`);
  return {
    url: withDatabase(serverUrl, name),
    drop: () => dropDatabase(serverUrl, name),
  };
}

/**
 * Lets connections end that are being closed: terminated ones emit an error that nobody handles any more. Those that a
 * test left open are terminated after a second.
 */
async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  try {
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const { rowCount } = await client.query('SELECT 1 FROM pg_stat_activity WHERE datname = $1', [name]);
      if (!rowCount) break;
      await sleep(20);
    }
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

/** The first caller creates the template; the final rename ensures that nobody copies an incomplete one. */
async function ensureTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock(1)');
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount) return;
    const draft = `${template}_draft`;
    await client.query(`DROP DATABASE IF EXISTS ${draft}`);
    await client.query(`CREATE DATABASE ${draft}`);
    await migrate({ url: withDatabase(serverUrl, draft) });
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${template}`);
  } finally {
    await client.end();
  }
}
