import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { poolRoleName } from '#queue/pools';
import { runCommandLine } from '#test/command-line';
import { createTestDatabase } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { isAllowed, type S3Policy } from '#test/s3-policy';

const key = 'ab'.repeat(32);
const line = ['pools', 'credentials', 'text', '--models', 'a,b'];

interface Printed {
  queueUrl: string;
  queueKey: string;
  aclLine: string;
}

describe.skipIf(!redisAvailable)('sluice pools credentials', () => {
  it('creates a user that may use the queues of the models, the same one each time', async () => {
    const server = await startRedis();
    const environment = { REDIS_URL: server.url, SLUICE_QUEUE_KEY: key };
    try {
      const printed = JSON.parse(await runCommandLine([...line, '--json'], environment)) as Printed;
      const text = await runCommandLine(line, environment);
      expect(text).toContain(`SLUICE_QUEUE_URL=${printed.queueUrl}\nSLUICE_QUEUE_KEY=${printed.queueKey}\n`);
      expect(printed.queueKey).toMatch(/^a:[0-9a-f]{64},b:[0-9a-f]{64},@bus:[0-9a-f]{64}$/);
      expect(printed.aclLine).toMatch(/^user sluice-pool-text on >/);
      const client = new Redis(printed.queueUrl);
      expect(await client.get('sluice:chat.a:meta')).toBeNull();
      await expect(client.get('sluice:chat.c:meta')).rejects.toThrow('NOPERM');
      client.disconnect();
    } finally {
      await server.close();
    }
  });

  it.each([
    ['SLUICE_QUEUE_KEY', { REDIS_URL: 'redis://127.0.0.1:1' }],
    ['SLUICE_QUEUE_KEY', { REDIS_URL: 'redis://127.0.0.1:1', SLUICE_QUEUE_KEY: `a:${key}` }],
    ['REDIS_URL', { SLUICE_QUEUE_KEY: key }],
  ])('names what is missing: %s', async (variable, environment: Record<string, string>) => {
    await expect(runCommandLine(line, environment)).rejects.toThrow(variable);
  });

  it('prints what the storage user of the pool may do: the artifacts of its models', async () => {
    const environment = { SLUICE_STORAGE_URL: 's3://media/sluice' };
    const policy = JSON.parse(await runCommandLine([...line, '--storage-policy'], environment)) as S3Policy;
    const request = (url: string, method = 'GET') => ({ method, url, headers: {} });
    const [scope = ''] = /[0-9a-f]{12}/.exec(policy.Statement[0]?.Resource[0] ?? '') ?? [];
    expect(isAllowed(policy, request(`/media/sluice/${scope}-00000001/r1`))).toBe(true);
    expect(isAllowed(policy, request(`/media/${scope}-00000001/r1`))).toBe(false);
    expect(isAllowed(policy, request(`/media/sluice/${'0'.repeat(12)}-00000001/r1`))).toBe(false);
    expect(isAllowed(policy, request('/media?list-type=2'))).toBe(false);
    await expect(runCommandLine([...line, '--storage-policy'], {})).rejects.toThrow('SLUICE_STORAGE_URL');
  });

  it('prints the keys of this user, which are those that storage-users writes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-pools-'));
    const environment = { SLUICE_STORAGE_URL: 's3://media/sluice', SLUICE_QUEUE_KEY: key };
    const write = (pools: string, ...options: string[]) =>
      runCommandLine(['pools', 'storage-users', folder, ...options], { ...environment, SLUICE_POOLS: pools });
    const read = (file: string) => readFile(join(folder, file), 'utf8');
    try {
      await mkdir(join(folder, 'of-others'));
      await write('text=a,b;image=c');
      const secret = await read('text/secret-access-key');
      const modeOf = async (path: string) => (await stat(join(folder, path))).mode & 0o777;
      expect([await modeOf('text'), await modeOf('text/secret-access-key')]).toEqual([0o700, 0o600]);
      await write('text=a,b;image=c', '--group');
      expect([await modeOf('text'), await modeOf('text/secret-access-key')]).toEqual([0o750, 0o640]);
      expect(secret).toMatch(/^[0-9a-f]{40}$/);
      expect(await runCommandLine([...line, '--storage-user'], environment)).toBe(
        `SLUICE_S3_ACCESS_KEY_ID=sluice-pool-text\nSLUICE_S3_SECRET_ACCESS_KEY=${secret}\n`,
      );
      expect(await read('image/secret-access-key')).not.toBe(secret);
      expect(JSON.parse(await read('text/policy.json'))).toEqual(
        JSON.parse(await runCommandLine([...line, '--storage-policy'], environment)),
      );
      expect(await write('text=a')).toBe('text: artifacts of a\n');
      expect((await readdir(folder)).toSorted()).toEqual(['of-others', 'text']);
      expect(await read('text/secret-access-key')).toBe(secret);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('creates a role of PostgreSQL where the queue is there, the same one each time', async () => {
    const { url, drop } = await createTestDatabase();
    const environment = { DATABASE_URL: url, SLUICE_QUEUE_KEY: key };
    try {
      const printed = JSON.parse(await runCommandLine([...line, '--json'], environment)) as Printed;
      const text = await runCommandLine(line, environment);
      expect(text).toContain(`SLUICE_QUEUE_URL=${printed.queueUrl}\nSLUICE_QUEUE_KEY=${printed.queueKey}\n`);
      expect(printed.aclLine).toBeNull();
      const client = new pg.Client(printed.queueUrl);
      await client.connect();
      const { rows } = await client.query('SELECT current_user AS name');
      expect(rows).toEqual([{ name: expect.stringMatching(/^sluice_pool_text_[0-9a-f]{8}$/) }]);
      const far = await runCommandLine([...line, '--no-create', '--address', '10.0.0.1:5433'], environment);
      expect(far).toBe(text.replace(new URL(url).host, '10.0.0.1:5433'));
      await expect(runCommandLine([...line, '--address', '10.0.0.1'], environment)).rejects.toThrow('--address');
      await expect(client.query('CREATE TABLE sluice_queue.mine (id int)')).rejects.toThrow('permission denied');
      await client.query(`SELECT * FROM sluice_queue.job`);
      await client.end();
    } finally {
      await drop();
    }
  });
});

describe('sluice migrate with SLUICE_POOLS', () => {
  const pools = { SLUICE_POOLS: 'text=a,b;image=c', SLUICE_QUEUE_KEY: key };
  const users = async (url: string, database: string) => {
    const client = new pg.Client(url);
    await client.connect();
    try {
      const { rows } = await client.query<{ name: string; queues: string }>(
        `SELECT r.rolname AS name, string_agg(DISTINCT p.qual, ' ') AS queues FROM pg_roles r
           JOIN pg_policies p ON p.roles = ARRAY[r.rolname] AND p.tablename = 'job' AND p.cmd = 'SELECT'
          WHERE r.rolname = ANY ($1) GROUP BY 1`,
        [['text', 'image'].map((pool) => poolRoleName({ namespace: 'sluice', pool, database }))],
      );
      return Object.fromEntries(rows.map(({ name, queues }) => [name.split('_')[2], queues]));
    } finally {
      await client.end();
    }
  };
  const databaseOf = (url: string) => new URL(url).pathname.slice(1);

  it('creates the roles of the pools, refreshes them, and prints what credentials prints', async () => {
    const { url, drop } = await createTestDatabase();
    const environment = { DATABASE_URL: url, ...pools };
    try {
      const first = JSON.parse(await runCommandLine(['migrate', '--json'], environment)) as { pools: object[] };
      expect(first.pools).toMatchObject([
        { pool: 'text', models: ['a', 'b'], user: expect.stringMatching(/^sluice_pool_text_/) },
        { pool: 'image', models: ['c'] },
      ]);
      expect(await users(url, databaseOf(url))).toMatchObject({
        text: expect.stringMatching(/chat\.a.*chat\.b/),
        image: expect.stringContaining('chat.c'),
      });
      const printed = await runCommandLine(['pools', 'credentials', 'text', '--no-create'], environment);
      expect(await runCommandLine(['pools', 'credentials', 'text'], environment)).toBe(printed);
      const [, workerUrl = ''] = /SLUICE_QUEUE_URL=(.*)/.exec(printed) ?? [];
      const worker = new pg.Client(workerUrl);
      await worker.connect();
      await worker.end();
      await runCommandLine(['migrate'], { ...environment, SLUICE_POOLS: 'text=b' });
      expect((await users(url, databaseOf(url)))['text']).not.toContain('chat.a');
    } finally {
      await drop();
    }
  });

  it('says what to grant when the database user may not create roles, also on a second run', async () => {
    const { url, drop } = await createTestDatabase();
    const admin = new pg.Client(url);
    await admin.connect();
    const limited = `limited_${databaseOf(url).slice(-12)}`.replaceAll('-', '_');
    try {
      await admin.query(`CREATE ROLE ${limited} LOGIN PASSWORD 'x'`);
      await admin.query(
        `GRANT ALL ON DATABASE "${databaseOf(url)}" TO ${limited}; GRANT ALL ON SCHEMA public TO ${limited}`,
      );
      const environment = { ...pools, DATABASE_URL: withUser(url, limited) };
      await expect(runCommandLine(['migrate'], environment)).rejects.toThrow(`The role ${limited} may not create`);
      await admin.query(`ALTER ROLE ${limited} CREATEROLE`);
      expect(await runCommandLine(['migrate'], environment)).toContain('pool text: sluice_pool_text_');
    } finally {
      await admin.end();
      await drop();
    }
  });

  it('changes nothing when a name is wrong, and needs the key', async () => {
    const { url, drop } = await createTestDatabase();
    try {
      const twice = { ...pools, DATABASE_URL: url, SLUICE_POOLS: 'text=a;text=b' };
      await expect(runCommandLine(['migrate'], twice)).rejects.toThrow('SLUICE_POOLS names the pool text twice');
      await expect(runCommandLine(['migrate'], { DATABASE_URL: url, SLUICE_POOLS: 'text' })).rejects.toThrow(
        'SLUICE_POOLS',
      );
      const keyless = { DATABASE_URL: url, SLUICE_POOLS: 'text=a' };
      await expect(runCommandLine(['migrate'], keyless)).rejects.toThrow('SLUICE_QUEUE_KEY');
    } finally {
      await drop();
    }
  });

  it.skipIf(!redisAvailable)('creates the users of Redis where the queue is there', async () => {
    const [server, { url, drop }] = await Promise.all([startRedis(), createTestDatabase()]);
    try {
      const environment = { DATABASE_URL: url, REDIS_URL: server.url, ...pools };
      expect(await runCommandLine(['migrate'], environment)).toContain('pool image: sluice-pool-image may use c');
      const printed = await runCommandLine(['pools', 'credentials', 'image', '--no-create'], environment);
      const client = new Redis(/SLUICE_QUEUE_URL=(.*)/.exec(printed)?.[1] ?? '');
      expect(await client.get('sluice:chat.c:meta')).toBeNull();
      await expect(client.get('sluice:chat.a:meta')).rejects.toThrow('NOPERM');
      client.disconnect();
    } finally {
      await server.close();
      await drop();
    }
  });
});

function withUser(url: string, username: string): string {
  return Object.assign(new URL(url), { username, password: 'x' }).href;
}

describe('sluice pools kubernetes-secrets', () => {
  const environment = {
    DATABASE_URL: 'postgresql://sluice:secret@db.example.com/sluice',
    REDIS_URL: 'redis://sluice:secret@queue.example.com:6379',
    SLUICE_QUEUE_KEY: key,
    SLUICE_POOLS: 'text=a,b;image=c',
  };
  const print = async (more: Record<string, string> = {}) =>
    JSON.parse(await runCommandLine(['pools', 'kubernetes-secrets'], { ...environment, ...more })) as {
      kind: string;
      items: { metadata: { name: string; namespace: string }; stringData: Record<string, string> }[];
    };

  it('prints the Secrets that the pods mount, the same ones each time, and connects to nothing', async () => {
    const { kind, items } = await print();
    expect(kind).toBe('List');
    expect(items.map(({ metadata }) => metadata.name)).toEqual([
      ...['sluice-database', 'sluice-payloads', 'sluice-queue'],
      ...['sluice-queue-text', 'sluice-artifacts-text', 'sluice-queue-image', 'sluice-artifacts-image'],
    ]);
    expect(new Set(items.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['sluice']));
    const [database, payloads, queue, text] = items.map(({ stringData }) => stringData);
    expect(database).toEqual({ url: environment.DATABASE_URL });
    expect(payloads?.['key']).toMatch(/^[0-9a-f]{64}$/);
    expect(payloads?.['key']).not.toBe(key);
    expect(queue).toEqual({ url: environment.REDIS_URL, key });
    expect(text?.['url']).toMatch(/^redis:\/\/sluice-pool-text:[0-9a-f]{64}@queue\.example\.com:6379/);
    expect(text?.['key']).toMatch(/^a:[0-9a-f]{64},b:[0-9a-f]{64},@bus:[0-9a-f]{64}$/);
    expect((await print()).items).toEqual(items);
  });

  it('names what is missing or wrong', async () => {
    await expect(print({ REDIS_URL: '' })).rejects.toThrow('REDIS_URL');
    await expect(print({ SLUICE_QUEUE_KEY: '' })).rejects.toThrow('SLUICE_QUEUE_KEY');
    const named = ['pools', 'kubernetes-secrets', '--kubernetes-namespace', 'Not A Name'];
    await expect(runCommandLine(named, environment)).rejects.toThrow('--kubernetes-namespace');
  });
});
