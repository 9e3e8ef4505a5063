import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#test/postgres';
import { migrate } from './migrate.js';
import { MigrationCheck } from './migration-check.js';
import { ensureQueueRole } from './queue-role.js';

let database: TestDatabase;
let folder: string;

beforeEach(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'sluice-migrations-'));
});

afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function writeMigration(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'migration.sql'), sql);
}

async function query(sql: string, url = database.url): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

describe('migrate', () => {
  it('applies missing migrations once when several processes start together', async () => {
    await writeMigration('1_first', 'CREATE TABLE first (id int)');
    await writeMigration('2_second', 'CREATE TABLE second (id int); INSERT INTO second VALUES (1);');
    const runs = await Promise.all([1, 2, 3].map(() => migrate({ url: database.url, folder })));
    expect(runs.flat().sort()).toEqual(['1_first', '2_second']);
    expect(await query('SELECT * FROM second')).toEqual([{ id: 1 }]);
  });

  it('tells a new database from one that is upgraded', async () => {
    const told: [string, boolean][] = [];
    const onApplied = (name: string, isNew: boolean) => void told.push([name, isNew]);
    await writeMigration('1_first', 'SELECT 1;');
    await writeMigration('2_second', 'SELECT 2;');
    await migrate({ url: database.url, folder, onApplied });
    await writeMigration('3_third', 'SELECT 3;');
    await migrate({ url: database.url, folder, onApplied });
    expect(told).toEqual([
      ['1_first', true],
      ['2_second', true],
      ['3_third', false],
    ]);
  });

  it('stores the same checksums as Prisma', async () => {
    await writeMigration('1_first', 'SELECT 1;\n');
    await migrate({ url: database.url, folder });
    const rows = await query(
      'SELECT checksum, applied_steps_count, finished_at IS NOT NULL AS finished FROM _prisma_migrations',
    );
    const checksum = 'b4e0497804e46e0a0b0b8c31975b062152d551bac49c3c2e80932567b4085dcd';
    expect(rows).toEqual([{ checksum, applied_steps_count: 1, finished: true }]);
  });

  it('rejects a migration that was changed after it was applied', async () => {
    await writeMigration('1_first', 'SELECT 1;\n');
    await migrate({ url: database.url, folder });
    await writeMigration('1_first', 'SELECT 2;\n');
    await expect(migrate({ url: database.url, folder })).rejects.toThrow(/1_first was changed after it was applied/);
  });

  it('rolls back a failed migration and applies it once it is fixed', async () => {
    await writeMigration('1_first', 'CREATE TABLE first (id int); SELECT nonsense;');
    await expect(migrate({ url: database.url, folder })).rejects.toThrow(/1_first could not be applied: .*nonsense/);
    await writeMigration('1_first', 'CREATE TABLE first (id int);');
    expect(await migrate({ url: database.url, folder })).toEqual(['1_first']);
  });

  it('rolls back a migration whose connection ends, and applies it at the next start', async () => {
    await writeMigration('1_first', 'CREATE TABLE first (id int); SELECT pg_terminate_backend(pg_backend_pid());');
    await expect(migrate({ url: database.url, folder })).rejects.toThrow(/1_first could not be applied/);
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toEqual([]);
    await writeMigration('1_first', 'CREATE TABLE first (id int);');
    expect(await migrate({ url: database.url, folder })).toEqual(['1_first']);
  });

  it('rejects a database with an unfinished migration of another tool', async () => {
    await writeMigration('1_first', 'SELECT 1;\n');
    await migrate({ url: database.url, folder });
    await query(`UPDATE _prisma_migrations SET finished_at = NULL, logs = 'disk full'`);
    await expect(migrate({ url: database.url, folder })).rejects.toThrow(/1_first failed on this database: disk full/);
  });

  it('yields to a lock held by another session and retries', async () => {
    await query('CREATE TABLE busy (id int)');
    await writeMigration('1_first', 'ALTER TABLE busy ADD COLUMN more int;');
    const lockingClient = new pg.Client(database.url);
    await lockingClient.connect();
    try {
      await lockingClient.query('BEGIN; SELECT * FROM busy');
      const locked: string[] = [];
      const onLocked = (name: string) => {
        locked.push(name);
        if (locked.length === 2) void lockingClient.query('COMMIT');
      };
      const locks = { waitMs: 50, pauseMs: 50 };
      expect(await migrate({ url: database.url, folder, onLocked, locks })).toEqual(['1_first']);
      expect(locked.slice(0, 2)).toEqual(['1_first', '1_first']);
      await lockingClient.query('BEGIN; SELECT * FROM busy');
      await writeMigration('2_second', 'ALTER TABLE busy DROP COLUMN more;');
      const again = migrate({ url: database.url, folder, locks: { waitMs: 10, pauseMs: 1 } });
      await expect(again).rejects.toThrow(/2_second could not be applied: .*lock timeout/);
    } finally {
      await lockingClient.end();
    }
    expect(await migrate({ url: database.url, folder })).toEqual(['2_second']);
  });

  it('ignores the statement timeout of the role', async () => {
    const [row] = await query('SELECT current_database() AS name');
    await query(`ALTER DATABASE "${String(row?.['name'])}" SET statement_timeout = '200ms'`);
    await writeMigration('1_first', 'SELECT pg_sleep(0.5);');
    // The second process waits longer for the first than the statement timeout.
    const runs = await Promise.all([1, 2].map(() => migrate({ url: database.url, folder })));
    expect(runs.flat()).toEqual(['1_first']);
  });

  it('rejects a database of a newer version', async () => {
    await writeMigration('1_first', 'SELECT 1;\n');
    await migrate({ url: database.url, folder });
    await rm(join(folder, '1_first'), { recursive: true });
    await expect(migrate({ url: database.url, folder })).rejects.toThrow(/made by a newer version/);
  });

  it('applies the migrations of the project to an empty database', async () => {
    expect((await migrate({ url: database.url })).length).toBeGreaterThan(0);
    expect(await query('SELECT count(*)::int AS jobs FROM jobs')).toEqual([{ jobs: 0 }]);
  });
});

describe('MigrationCheck', () => {
  it('names missing migrations and the fix, and passes once they are applied', async () => {
    const check = new MigrationCheck({ url: database.url, folder });
    await writeMigration('1_first', 'SELECT 1;\n');
    await writeMigration('2_second', 'SELECT 2;\n');
    const behind = (words: string) => ({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(new RegExp(`${words}.*sluice migrate`)),
    });
    await expect(check.check()).rejects.toMatchObject(behind('2 migrations of this version are missing, from 1_first'));
    await rm(join(folder, '2_second'), { recursive: true });
    await migrate({ url: database.url, folder });
    await writeMigration('2_second', 'SELECT 2;\n');
    await expect(check.check()).rejects.toMatchObject(
      behind('1 migrations of this version are missing, from 2_second'),
    );
    await migrate({ url: database.url, folder });
    await check.check();
  });

  it('accepts a database of a newer version', async () => {
    await writeMigration('1_first', 'SELECT 1;\n');
    await writeMigration('2_second', 'SELECT 2;\n');
    await migrate({ url: database.url, folder });
    await rm(join(folder, '2_second'), { recursive: true });
    await expect(new MigrationCheck({ url: database.url, folder }).check()).resolves.toBeUndefined();
  });
});

describe('ensureQueueRole', () => {
  it('creates a role that owns the queue schema and can read no other table', async () => {
    await migrate({ url: database.url });
    const options = { url: database.url, secretKey: '00'.repeat(32), namespace: 'sluice' };
    const url = await ensureQueueRole(options);
    expect(await ensureQueueRole(options)).toBe(url);
    await query('CREATE TABLE sluice_queue.mine (id int)', url);
    await expect(query('SELECT * FROM api_keys', url)).rejects.toThrow(/permission denied/);
    await expect(query('SELECT * FROM job_payloads', url)).rejects.toThrow(/permission denied/);
    await expect(query('CREATE SCHEMA another', url)).rejects.toThrow(/permission denied/);
    await expect(query('CREATE TABLE public.another (id int)', url)).rejects.toThrow(/permission denied/);
  });

  it('gives the role the schema that a restored dump has left to another role', async () => {
    await query('CREATE SCHEMA sluice_queue');
    const url = await ensureQueueRole({ url: database.url, secretKey: '00'.repeat(32) });
    await query('CREATE TABLE sluice_queue.mine (id int)', url);
    expect(await query('SELECT * FROM sluice_queue.mine', url)).toEqual([]);
  });
});
