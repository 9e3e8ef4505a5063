import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keyFingerprint } from '#jobs/store-checks';
import { runCommandLine } from '#test/command-line';
import { newRowCustomer, writeFinishedRequests } from '#test/finished-requests';
import { createMigratedDatabase, createTestDatabase, runOnServer, type TestDatabase } from '#test/postgres';

const key = randomBytes(32).toString('hex');
const otherKey = randomBytes(32).toString('hex');

let folder: string;
let file: string;
let source: TestDatabase;
let target: TestDatabase;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice backup '));
  file = join(folder, 'backup.tar.gz');
  source = await createMigratedDatabase();
  target = await createTestDatabase();
  const client = new pg.Client(source.url);
  await client.connect();
  await writeFinishedRequests(client, await newRowCustomer(client), { count: 20, daysAgo: 0 });
  await client.query('INSERT INTO key_fingerprints (name, fingerprint) VALUES ($1, $2)', [
    'SLUICE_SECRET_KEY',
    keyFingerprint('SLUICE_SECRET_KEY', key),
  ]);
  await client.end();
});

afterEach(async () => {
  await source.drop();
  await target.drop();
  await rm(folder, { recursive: true, force: true });
});

/** A cluster: the database is elsewhere, and the operator keeps the key. */
const cluster = (database: TestDatabase, more: Record<string, string> = {}) => ({
  SLUICE_HOME: join(folder, 'home'),
  DATABASE_URL: database.url,
  ...more,
});

const backUp = (): Promise<string> => runCommandLine(['backup', file], cluster(source));

const restore = (line: string[], more: Record<string, string> = {}): Promise<string> =>
  runCommandLine(['restore', file, ...line], cluster(target, more));

describe('a backup of a cluster', () => {
  it('is restored with the key of the operator', async () => {
    expect(await backUp()).toMatch(/^keys +none$/m);
    expect(await runCommandLine(['backup', '--verify', file], cluster(source))).toContain('is whole');
    await expect(restore([])).rejects.toThrow('set SLUICE_SECRET_KEY to the one of the installation');
    await expect(restore([], { SLUICE_SECRET_KEY: otherKey })).rejects.toThrow('is not the key of the backup');
    const printed = await restore([], { SLUICE_SECRET_KEY: key });
    expect(printed).toMatch(/^ledger +ok: 1 accounts, 3 transactions$/m);
    expect(printed).toMatch(/^keys +those of this machine$/m);
    await expect(restore([], { SLUICE_SECRET_KEY: key })).rejects.toThrow('The database is not empty');
    expect(await restore(['--replace'], { SLUICE_SECRET_KEY: key })).toMatch(/^replaced +schema public_replaced_/m);
  });

  it('is restored without its key when that is lost', async () => {
    await backUp();
    const home = join(folder, 'home');
    await restore(['--without-key']);
    expect(existsSync(home)).toBe(false);
    // Processes note the key that they start with.
    await runOnServer(target.url, `INSERT INTO key_fingerprints VALUES ('SLUICE_SECRET_KEY', '\\x00', now())`);
  });

  it('with a broken ledger is restored, and says so', async () => {
    await runOnServer(source.url, 'UPDATE balances SET usd_nano = usd_nano + 1');
    await backUp();
    await expect(restore([], { SLUICE_SECRET_KEY: key })).rejects.toThrow('its ledger is broken');
  });
});

describe('a backup of a home', () => {
  it('holds its key, and sets aside another one only when told to', async () => {
    const home = join(folder, 'home');
    await mkdir(home);
    await writeFile(join(home, 'secret.key'), `${key}\n`);
    await writeFile(join(home, 'first-keys.txt'), 'keys');
    expect(await backUp()).toMatch(/^keys +secret\.key, first-keys\.txt$/m);
    await writeFile(join(home, 'secret.key'), `${otherKey}\n`);
    await expect(restore([])).rejects.toThrow('is the key of another installation');
    await restore(['--replace']);
    expect(await readFile(join(home, 'secret.key'), 'utf8')).toBe(`${key}\n`);
    const names = (await readdir(home)).map((name) => name.replace(/replaced-.*/, 'replaced'));
    expect(names.toSorted()).toEqual([
      'first-keys.txt',
      'first-keys.txt.replaced',
      'secret.key',
      'secret.key.replaced',
    ]);
  });

  it('is restored into an empty home, and made again while that is stopped', async () => {
    const first = JSON.parse(await runCommandLine(['backup', file, '--json'], cluster(source))) as { rows: number };
    const home = { SLUICE_HOME: join(folder, 'second') };
    const withKey = { ...home, SLUICE_SECRET_KEY: key };
    expect(await runCommandLine(['restore', file], withKey)).toMatch(/^ledger +ok: 1 accounts/m);
    const again = await runCommandLine(['backup', join(folder, 'again.tar.gz'), '--json'], home);
    expect(JSON.parse(again)).toMatchObject({ rows: first.rows });
    await expect(runCommandLine(['restore', file], withKey)).rejects.toThrow('is not empty');
    await runCommandLine(['restore', file, '--replace'], withKey);
    const names = (await readdir(home.SLUICE_HOME)).map((name) => name.replace(/replaced-.*/, 'replaced'));
    expect(names.toSorted()).toEqual(['postgres', 'postgres.replaced']);
  }, 180_000);

  it('leaves out a key of another installation', async () => {
    await mkdir(join(folder, 'home'));
    await writeFile(join(folder, 'home', 'secret.key'), otherKey);
    expect(await backUp()).toMatch(/^keys +none$/m);
  });

  it('is refused where there is none', async () => {
    const nowhere = { SLUICE_HOME: join(folder, 'nowhere') };
    await expect(runCommandLine(['backup', file], nowhere)).rejects.toThrow('There is no installation in');
  });
});
