import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate, projectMigrationsFolder } from '#platform/migrations';
import { type ArtifactStore, createArtifactStore } from '#storage';
import { newRowCustomer, type RowCustomer, writeFinishedRequests, writeExpiredRows } from '#test/finished-requests';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, createTestDatabase, runOnServer, type TestDatabase } from '#test/postgres';
import { startS3 } from '#test/s3';
import { createBackup } from './create-backup.js';
import { clearDatabase } from './database/load.js';
import { backedUpTables, historyTable, omittedTables } from './database/tables.js';
import type { BackupManifest } from './manifest.js';
import { assertRestorable, restoreBackup, type RestoreResult } from './restore-backup.js';
import { verifyBackup } from './verify-backup.js';

const signal = new AbortController().signal;
const onProgress = (): void => undefined;

let folder: string;
let file: string;
let source: TestDatabase;
let client: pg.Client;
let customer: RowCustomer;
let store: ArtifactStore;
let databases: TestDatabase[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice backup '));
  file = join(folder, 'sluice.tar.gz');
  source = await createMigratedDatabase();
  databases = [source];
  client = new pg.Client(source.url);
  await client.connect();
  customer = await newRowCustomer(client);
  store = createArtifactStore({ home: join(folder, 'first') });
});

afterEach(async () => {
  await client.end();
  await Promise.all(databases.map((database) => database.drop()));
  await rm(folder, { recursive: true, force: true });
});

function backUp(options: { path?: string; migrationsFolder?: string } = {}): Promise<BackupManifest> {
  const content = Buffer.from('a key');
  const homeFiles = () => Promise.resolve([{ name: 'secret.key', content }]);
  return createBackup({
    ...{ path: file, databaseUrl: source.url, store, version: '1.2.3', homeFiles, onProgress, signal },
    ...options,
  });
}

async function emptyDatabase(): Promise<string> {
  const database = await createTestDatabase();
  databases.push(database);
  return database.url;
}

async function restore(
  databaseUrl: string,
  options: { store?: ArtifactStore; migrationsFolder?: string } = {},
): Promise<RestoreResult> {
  const manifest = await verifyBackup(file);
  await assertRestorable(manifest, options.migrationsFolder);
  await clearDatabase(databaseUrl, { replace: false, queueSchema: 'sluice_queue' });
  return await restoreBackup({ file, manifest, databaseUrl, store, onProgress, signal, ...options });
}

/** A digest of every table with rows, whatever the order of its rows is. */
async function digests(url: string, tables: readonly string[] = backedUpTables): Promise<Record<string, string>> {
  const reader = new pg.Client(url);
  await reader.connect();
  try {
    const found: Record<string, string> = {};
    for (const table of tables) {
      const { rows } = await reader.query<{ digest: string | null }>(
        `SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) AS digest FROM ${table} t`,
      );
      found[table] = rows[0]?.digest ?? 'empty';
    }
    return found;
  } finally {
    await reader.end();
  }
}

/** Stores an object that a row of a finished media job names; returns its id. */
async function storeResult(bytes: Buffer): Promise<string> {
  const { id } = await store.put(bytes, { kind: 'result', contentType: 'video/mp4' });
  await nameResult(id);
  return id;
}

async function nameResult(id: string): Promise<void> {
  const requestId = randomUUID();
  await client.query(
    `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, deadline_at, finished_at)
     VALUES ($1, $2, $3, 'video', 'm', 'succeeded', now(), now())`,
    [requestId, customer.account, customer.key],
  );
  await client.query(
    `INSERT INTO media_jobs (request_id, queue_id, model_id, result_artifacts, closed_at)
     VALUES ($1, gen_random_uuid(), 'm', ARRAY[$2], now())`,
    [requestId, id],
  );
}

/** Texts and bytes that a careless reader of rows would change. */
async function writeAwkwardRows(): Promise<void> {
  await client.query(`UPDATE accounts SET name = E'a\\tb\\nc\\\\.\\\\N "é" \\u00a0😀' WHERE id = $1`, [
    customer.account,
  ]);
  await client.query(
    `INSERT INTO characters (slug, name, system_prompt, author, tags) VALUES ('c', 'C', '', '', ARRAY['x,y', '{', 'NULL'])`,
  );
  await client.query(
    `INSERT INTO response_states (id, account_id, ciphertext, expires_at) VALUES ('r', $1, $2, 'infinity')`,
    [customer.account, randomBytes(6_000_000)],
  );
}

describe('a backup', () => {
  it('restores every row, sequence and object into an empty database', async () => {
    await writeFinishedRequests(client, customer, { count: 200, daysAgo: 0 });
    await writeExpiredRows(client, customer, 3);
    await writeAwkwardRows();
    const video = randomBytes(3_000_000);
    const id = await storeResult(video);
    await nameResult(store.reserve('result'));
    const manifest = await backUp();
    expect(manifest.objects).toEqual({ stored: 1, missing: 1 });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const target = await emptyDatabase();
    const second = createArtifactStore({ home: join(folder, 'second') });
    const result = await restore(target, { store: second });
    expect(result).toMatchObject({ objects: 1, expiredObjects: 0, migrations: [] });
    expect(result.homeFiles).toEqual([{ name: 'secret.key', content: Buffer.from('a key') }]);
    expect(await digests(target)).toEqual(await digests(source.url));
    const omitted = Object.keys(omittedTables);
    expect(new Set(Object.values(await digests(target, omitted)))).toEqual(new Set(['empty']));
    expect((await second.read(id, video.length)).bytes.equals(video)).toBe(true);
    await expectInvariant({ databaseUrl: target });

    // New rows continue the sequences, and the triggers of the ledger are on again.
    const next = new pg.Client(target);
    await next.connect();
    await writeFinishedRequests(next, customer, { count: 20, daysAgo: 0 });
    await expect(next.query('DELETE FROM ledger_entries')).rejects.toThrow('only appends');
    await newRowCustomer(next);
    await next.end();
    await expectInvariant({ databaseUrl: target });
  }, 180_000);

  it('is of one moment while requests are charged', async () => {
    const writer = new pg.Client(source.url);
    await writer.connect();
    let [batches, stopped] = [0, false];
    const writing = (async () => {
      for (; !stopped; batches += 1) {
        await writer.query('BEGIN');
        await writeFinishedRequests(writer, customer, { count: 40, daysAgo: 0 });
        await writer.query('COMMIT');
      }
    })();
    await expect.poll(() => batches).toBeGreaterThan(3);
    const before = batches;
    await backUp();
    await expect.poll(() => batches).toBeGreaterThan(before);
    stopped = true;
    await writing;
    await writer.end();
    const target = await emptyDatabase();
    await restore(target);
    const figures = await expectInvariant({ databaseUrl: target });
    expect(Number(figures.transactions)).toBeGreaterThan(before * 4 - 1);
    // Of each batch, all or nothing.
    expect((Number(figures.transactions) - 1) % 4).toBe(0);
  });

  it('moves objects between a folder and a bucket', async () => {
    const server = await startS3();
    try {
      const bytes = randomBytes(100_000);
      const id = await storeResult(bytes);
      await backUp();
      const bucket = createArtifactStore(server.storage);
      await restore(await emptyDatabase(), { store: bucket });
      expect((await bucket.read(id, bytes.length)).bytes.equals(bytes)).toBe(true);
      await bucket.close();
    } finally {
      await server.close();
    }
  }, 180_000);

  it('of an older version is migrated to this one', async () => {
    await backUp();
    const newer = await migrationsWith('ALTER TABLE accounts ADD COLUMN restored boolean NOT NULL DEFAULT true;');
    const target = await emptyDatabase();
    const { migrations } = await restore(target, { migrationsFolder: newer });
    expect(migrations).toEqual(['99990101000000_added']);
    expect((await digests(target))['accounts']).not.toBe('empty');
  });

  it('restores with a role that is no superuser', async () => {
    await writeFinishedRequests(client, customer, { count: 20, daysAgo: 0 });
    await backUp();
    const target = new URL(await emptyDatabase());
    const name = target.pathname.slice(1);
    const role = `${name}_owner`;
    await runOnServer(source.url, `CREATE ROLE ${role} LOGIN PASSWORD 'x'; ALTER DATABASE ${name} OWNER TO ${role}`);
    const url = Object.assign(new URL(target), { username: role, password: 'x' }).href;
    await restore(url);
    await expectInvariant({ databaseUrl: url });
    await databases.pop()?.drop();
    await runOnServer(source.url, `DROP ROLE ${role}`);
  });
});

describe('a backup is refused', () => {
  it.each([
    ['cut off', 'is cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 100)],
    [
      'changed',
      'is damaged',
      (bytes: Buffer) => (bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1), bytes),
    ],
    ['another file', 'or no backup', () => Buffer.from('no archive')],
    ['empty', 'is cut off', () => Buffer.alloc(0)],
  ])('when it is %s', async (_case, text, change) => {
    await backUp();
    await writeFile(file, change(await readFile(file)));
    await expect(verifyBackup(file)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining(text),
    });
  });

  it('when its database has a newer schema', async () => {
    const newer = await migrationsWith('SELECT 1;');
    await migrate({ url: source.url, folder: newer });
    await expect(backUp()).rejects.toThrow('of a newer version: make the backup with that version');
    await backUp({ migrationsFolder: newer });
    await expect(restore(await emptyDatabase())).rejects.toThrow('99990101000000_added this version does not know');
  });

  it('when the database is behind this version', async () => {
    const migrationsFolder = await migrationsWith('SELECT 1;');
    await expect(backUp({ migrationsFolder })).rejects.toThrow('The database is behind this version');
    expect(await readdir(folder)).not.toContain('sluice.tar.gz.partial');
  });

  it('when the file exists', async () => {
    await backUp();
    await expect(backUp()).rejects.toThrow('name another file');
  });

  it('into a database with tables, unless those are set aside', async () => {
    await backUp();
    await expect(restore(source.url)).rejects.toThrow(/not empty \(\d+ tables\)/);
    await client.query(`SET application_name = 'sluice-api'`);
    const clearing = { replace: true, queueSchema: 'sluice_queue' };
    await expect(clearDatabase(source.url, clearing)).rejects.toThrow('stop api, ops and workers first');
    await client.query(`SET application_name = 'other'`);
    const expected = await digests(source.url);
    const schema = await clearDatabase(source.url, clearing);
    expect(schema).toMatch(/^public_replaced_\d{14}$/);
    await restore(source.url);
    expect(await digests(source.url)).toEqual(expected);
    const aside = await digests(source.url, [`${schema}.accounts`]);
    expect(aside[`${schema}.accounts`]).not.toBe('empty');
  });

  it('and leaves nothing behind when it is stopped', async () => {
    const stop = new AbortController();
    stop.abort(new Error('stopped'));
    await expect(
      createBackup({
        ...{ path: file, databaseUrl: source.url, store, version: '1', onProgress, signal: stop.signal },
        homeFiles: () => Promise.resolve([]),
      }),
    ).rejects.toThrow('stopped');
    expect(await readdir(folder)).toEqual([]);
  });
});

it('every table of a migrated database is in a backup, or on the list of those that are not', async () => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const stated = [...backedUpTables, ...Object.keys(omittedTables), historyTable];
  expect(stated.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});

/** A copy of the project's migrations with one more. */
async function migrationsWith(sql: string): Promise<string> {
  const copy = join(folder, 'migrations');
  await cp(projectMigrationsFolder(), copy, { recursive: true });
  const added = join(copy, '99990101000000_added');
  await mkdir(added);
  await writeFile(join(added, 'migration.sql'), sql);
  return copy;
}
