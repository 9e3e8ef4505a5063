import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { runOnServer } from './postgres-server.js';
import './global-services.js';

export { startPostgres, type TestPostgres } from './postgres-server.js';

/** A database of one test's own on the server that the run shares. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Makes an empty database; the suites run side by side, each in its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runOnServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => runOnServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}
