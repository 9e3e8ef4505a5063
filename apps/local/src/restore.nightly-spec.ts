import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { Installation } from '#test/installation';
import { LocalRun } from '#test/local-run';
import { startPostgres, type TestPostgres } from '#test/postgres-server';

/* Backups by docs/operate/operations.md, restored on a machine that has nothing of the first one. */

const oldestPostgres = '/usr/lib/postgresql/15';

describe.runIf(process.platform === 'linux')('an installation on an empty machine', () => {
  let folder: string;
  let first: string;
  let second: string;
  let run: LocalRun | undefined;
  const servers: TestPostgres[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice restore '));
    first = join(folder, 'first', '.sluice');
    second = join(folder, 'second', '.sluice');
    await mkdir(join(folder, 'first'));
    await mkdir(join(folder, 'second'));
  });
  afterEach(async () => {
    await run?.stop('SIGTERM');
    run = undefined;
    await Promise.all(servers.splice(0).map((server) => server.close()));
    await rm(folder, { recursive: true, force: true });
  });

  async function start(home: string, environment: Record<string, string> = {}): Promise<Installation> {
    run = new LocalRun(home, { PORT: '0', ...environment });
    await run.says('Sluice is ready');
    return new Installation(run);
  }

  async function stop(): Promise<void> {
    expect(await run?.stop('SIGTERM')).toBe(0);
    run = undefined;
  }

  /** Starts the first machine, adds a model and asks it. Stops it, and returns what must be there after a restore. */
  async function useFirst(environment: Record<string, string> = {}): Promise<Backup> {
    const installation = await start(first, environment);
    await installation.run.addTinyModel(folder);
    const key = await installation.run.inferenceKey();
    const responseId = await installation.respond(key);
    const accounts = await installation.accounts();
    expect(accounts).toContain('default');
    await stop();
    return { key, responseId, accounts };
  }

  /** The same accounts are listed, the same key signs in, what was encrypted can be read, and chats are served. */
  async function expectRestored(installation: Installation, { key, responseId, accounts }: Backup): Promise<void> {
    expect(await installation.accounts()).toBe(accounts);
    expect(await installation.readResponse(key, responseId)).toBe(200);
    await expect.poll(() => installation.respond(key).catch(() => null), { timeout: 120_000 }).not.toBeNull();
    const { stdout } = await installation.run.sluice('ledger', 'verify');
    expect(stdout).not.toContain('BROKEN');
  }

  it('serves from a copy of the data folder', async () => {
    const backup = await useFirst();
    // The copy lacks its rights and owners, as those of many tools do.
    await cp(first, second, { recursive: true });
    await rm(first, { recursive: true });
    await expectRestored(await start(second), backup);
  });

  it('says that the secret key was not copied', async () => {
    await useFirst();
    await cp(first, second, { recursive: true });
    await rm(join(second, 'secret.key'));
    run = new LocalRun(second, { PORT: '0' });
    await run.says('SLUICE_SECRET_KEY of this process is not the key of the others: give all of them the same');
    expect(run.output).toContain('DELETE FROM key_fingerprints');
  });

  describe.runIf(existsSync(join(oldestPostgres, 'bin', 'pg_dump')))('with a database of its own', () => {
    /** Returns the URL of an empty database on a server of its own. */
    async function createDatabase(): Promise<string> {
      const server = await startPostgres({}, undefined, oldestPostgres);
      servers.push(server);
      tool('createdb', '--maintenance-db', server.url, 'sluice');
      return Object.assign(new URL(server.url), { pathname: 'sluice' }).href;
    }

    const tool = (name: string, ...words: string[]) => execFileSync(join(oldestPostgres, 'bin', name), words);

    it('serves from a dump and the secret key', async () => {
      const source = await createDatabase();
      const backup = await useFirst({ DATABASE_URL: source });
      const dump = join(folder, 'sluice.dump');
      tool('pg_dump', '--format=custom', '--file', dump, source);
      await servers.pop()?.close();
      // The queue is rebuilt from the rows of the database. The new server knows no role of the old one.
      const target = await createDatabase();
      tool('pg_restore', '--dbname', target, '--exclude-schema', 'sluice_queue', '--no-owner', '--no-privileges', dump);
      await mkdir(second);
      for (const name of ['secret.key', 'models']) await cp(join(first, name), join(second, name), { recursive: true });
      await rm(first, { recursive: true });
      await expectRestored(await start(second, { DATABASE_URL: target }), backup);
      await expectInvariant({ databaseUrl: target });
    });
  });
});

interface Backup {
  key: string;
  responseId: string;
  accounts: string;
}
