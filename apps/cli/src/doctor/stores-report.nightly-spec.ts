import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reportStores } from '#jobs/store-checks';
import { CliConfig, DatabaseConfig, parseConfig, StoresConfig } from '#platform/config';
import { examineDatabase, minimumPostgresVersion } from '#platform/database';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createTransport } from '#queue';
import { documentedRules, type GuardedRedis, startGuardedRedis } from '#test/guarded-redis';
import {
  createDatabaseOn,
  runOnServer,
  startPostgres,
  type TestDatabase,
  type TestPostgres,
  withDatabase,
} from '#test/postgres';
import { redisAvailable } from '#test/redis';
import { startS3, type TestS3 } from '#test/s3';
import { thisMachine } from '#test/site';
import { CliContext } from '../cli-context.js';
import { doctorStores } from './stores-report.js';

const [secretKey, queueKey, anotherKey] = ['5e'.repeat(32), '6f'.repeat(32), '70'.repeat(32)];

/** Debian keeps its servers here. */
const oldestServer = `/usr/lib/postgresql/${minimumPostgresVersion}`;

describe.skipIf(!redisAvailable)('sluice doctor --stores', () => {
  let server: TestPostgres;
  let database: TestDatabase;
  let redis: GuardedRedis;
  let admin: Redis;
  let objects: TestS3;
  let home: string;

  beforeAll(async () => {
    // Test servers do not wait for disks.
    server = await startPostgres({ fsync: 'on' });
    [database, redis, objects] = await Promise.all([createDatabaseOn(server.url), startGuardedRedis(), startS3()]);
    admin = new Redis(redis.adminUrl);
    home = await mkdtemp(join(tmpdir(), 'sluice-doctor-'));
  });
  afterAll(async () => {
    admin.disconnect();
    await Promise.all([server.close(), redis.close(), objects.close(), rm(home, { recursive: true })]);
  });
  beforeEach(async () => {
    await admin.call('ACL', 'SETUSER', 'sluice', 'reset', ...documentedRules('sluice'));
    await runOnServer(database.url, 'TRUNCATE key_fingerprints');
  });

  const environment = (changed: Record<string, string> = {}) => ({
    SLUICE_HOME: home,
    DATABASE_URL: database.url,
    REDIS_URL: redis.urlOf('sluice'),
    SLUICE_SECRET_KEY: secretKey,
    SLUICE_QUEUE_KEY: queueKey,
    ...objects.environment,
    ...changed,
  });

  /** Resolves to what was printed, and to the message with which the command failed. */
  const examine = async (changed: Record<string, string> = {}, { json = false } = {}) => {
    const written: string[] = [];
    const stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => (written.push(chunk.toString()), done()),
    });
    const variables = environment(changed);
    const context = new CliContext(parseConfig(CliConfig, variables), { stdout });
    try {
      const failure = await doctorStores(context, { json, config: parseConfig(StoresConfig, variables) }).then(
        () => null,
        (error: Error) => error.message,
      );
      return { text: written.join(''), failure };
    } finally {
      await context.close();
    }
  };

  /** Does as a process of the installation when it starts. */
  const start = async (changed: Record<string, string> = {}): Promise<void> => {
    const prisma = new PrismaService({ url: database.url });
    try {
      await reportStores(parseConfig(DatabaseConfig, environment(changed)), prisma, createLogger('test'));
    } finally {
      await prisma.$disconnect();
    }
  };

  it('finds nothing in stores as the docs describe them', async () => {
    await start();
    const { text, failure } = await examine();
    expect(text).toContain('No problems found.');
    expect(text).toMatch(/PostgreSQL +\d+.* of \d+ connections in use, clock [+-]\d+ ms/);
    expect(failure).toBeNull();
  });

  it('prints one document with the figures and the findings', async () => {
    await admin.call('ACL', 'SETUSER', 'sluice', '-zadd');
    const { text, failure } = await examine({}, { json: true });
    expect(JSON.parse(text)).toMatchObject({
      postgres: { version: expect.any(String), clockOffsetMs: expect.any(Number) },
      redis: [{ version: expect.any(String) }],
      findings: expect.arrayContaining([
        { store: 'redis', severity: 'problem', text: expect.stringContaining('lacks +zadd:') },
      ]),
    });
    expect(failure).toBe('1 problems were found.');
  });

  it('finds a role without rights, and names one of them', async () => {
    await runOnServer(database.url, `CREATE ROLE reader LOGIN PASSWORD 'reader'`);
    await runOnServer(database.url, 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader');
    const url = Object.assign(new URL(database.url), { username: 'reader', password: 'reader' }).href;
    const { text, failure } = await examine({ DATABASE_URL: url });
    expect(text).toMatch(/! postgres: The role reader may not DELETE the table accounts and lacks \d+ more rights/);
    expect(failure).toMatch(/problems were found/);
  });

  it('finds a database without tables, and one that is not there', async () => {
    await runOnServer(server.url, 'CREATE DATABASE bare');
    const bare = await examine({ DATABASE_URL: withDatabase(server.url, 'bare') });
    expect(bare.text).toContain('Run `sluice migrate`');
    const absent = await examine({ DATABASE_URL: withDatabase(server.url, 'absent') });
    expect(absent.text).toContain('PostgreSQL cannot be used');
    expect([bare, absent].map(({ failure }) => failure)).toEqual(Array(2).fill(expect.stringMatching(/problems/)));
  });

  it('finds another secret key than the processes have, and never shows one', async () => {
    await start();
    const { text } = await examine({ SLUICE_SECRET_KEY: anotherKey });
    expect(text).toContain('! keys: SLUICE_SECRET_KEY of this process is not the key of the others');
    for (const key of [secretKey, queueKey, anotherKey]) expect(text).not.toContain(key);
  });

  it('takes a key that is being changed for the key of the others, before and afterwards', async () => {
    await start();
    await start({ SLUICE_SECRET_KEY: anotherKey, SLUICE_PREVIOUS_SECRET_KEYS: secretKey });
    expect((await examine({ SLUICE_SECRET_KEY: anotherKey })).failure).toBeNull();
    expect((await examine({ SLUICE_SECRET_KEY: secretKey })).failure).not.toBeNull();
  });

  it.each([
    ['another queue key', [anotherKey], 'A process has another SLUICE_QUEUE_KEY'],
    ['no queue key', [], 'A process has no SLUICE_QUEUE_KEY'],
  ])('hears a process with %s', async (_name, sealKeys, expected) => {
    const common = { url: redis.urlOf('sluice'), namespace: 'sluice', warn: () => undefined };
    const worker = await createTransport({ ...common, clientName: 'worker', sealKeys });
    await worker.membership.join(() => ({ processId: 'w', role: 'worker', replyAddress: null, models: [] }));
    try {
      expect((await examine()).text).toContain(`! keys: ${expected}`);
    } finally {
      await worker.close();
    }
  });

  it('counts the processes that it hears', async () => {
    const common = { url: redis.urlOf('sluice'), namespace: 'sluice', warn: () => undefined, sealKeys: [queueKey] };
    const worker = await createTransport({ ...common, clientName: 'worker' });
    await worker.membership.join(() => ({ processId: 'w', role: 'worker', replyAddress: null, models: [] }));
    try {
      expect((await examine()).text).toMatch(/processes heard +1 worker/);
    } finally {
      await worker.close();
    }
  });

  it.each(['PutObject', 'GetObject', 'DeleteObject', 'ListBucket'])(
    'finds a bucket without the right to %s',
    async (right) => {
      const actions = ['PutObject', 'GetObject', 'DeleteObject', 'AbortMultipartUpload', 'ListBucketMultipartUploads'];
      const Action = [...actions, 'ListBucket'].filter((action) => action !== right).map((action) => `s3:${action}`);
      const { s3 } = objects.addUser({ Statement: [{ Effect: 'Allow', Action, Resource: ['arn:aws:s3:::*'] }] });
      const { text, failure } = await examine({
        SLUICE_S3_ACCESS_KEY_ID: s3?.accessKeyId ?? '',
        SLUICE_S3_SECRET_ACCESS_KEY: s3?.secretAccessKey ?? '',
      });
      expect(text).toMatch(
        new RegExp(`! storage: ${right} fails on the bucket \\S+ \\(.*\\): give api and ops this right`),
      );
      expect(failure).toMatch(/problems were found/);
    },
  );

  it('finds a folder of media that cannot be written', async () => {
    const { text } = await examine({ SLUICE_STORAGE_URL: 'file:///dev/null/media' });
    expect(text).toContain('! storage: The folder of media cannot be written');
  });
});

describe('a PostgreSQL server', () => {
  it('is reported with too few connections, and without fsync', async () => {
    const server = await startPostgres({ max_connections: '20', fsync: 'off' });
    try {
      const { findings } = await examineDatabase(server.url, { hasQueue: false });
      expect(findings.map(({ text }) => text)).toEqual([
        expect.stringContaining('fsync off'),
        expect.stringMatching(/An api opens up to 21 connections and ops 12, but PostgreSQL allows 17: raise/),
      ]);
    } finally {
      await server.close();
    }
  });

  it.skipIf(!existsSync(join(oldestServer, 'bin/postgres')))(
    'of the oldest supported version is migrated',
    async () => {
      const server = await startPostgres({ fsync: 'on' }, thisMachine, oldestServer);
      try {
        const { url } = await createDatabaseOn(server.url);
        const { version, findings } = await examineDatabase(url, { hasQueue: true });
        expect(version).toMatch(new RegExp(`^${minimumPostgresVersion}\\.`));
        expect(findings).toEqual([]);
      } finally {
        await server.close();
      }
    },
  );
});
