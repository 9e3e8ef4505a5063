import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { documentedRules, documentedUsers, type GuardedRedis, startGuardedRedis } from '#test/guarded-redis';
import { redisAvailable } from '#test/redis';
import { createTransport } from './transport/create-transport.js';
import { examineRedis } from './checks/examine-redis.js';
import { triedCommands } from './checks/redis-rights.js';
import { sealKey } from './conformance/fixture.conformance.js';
import { ensureRedisPoolRole } from './trust/pools/redis-pool-role.js';
import { describeTransport } from './transport.conformance.js';

/** Commands with which the tests themselves run the server. */
const ofTests = [
  'acl',
  'auth',
  'client',
  'config',
  'debug',
  'flushall',
  'hello',
  'info',
  'keys',
  'multi',
  'exec',
  'script',
];

describe.skipIf(!redisAvailable)('the documented Redis users', () => {
  it('are three', () => {
    expect(documentedUsers).toEqual(['sluice', 'sluice-migrate', 'default']);
  });

  const seen = new Set<string>();
  /** A server forgets them when it stops. */
  const collectSeen = async (admin: Redis) => {
    const text = await admin.info('commandstats');
    for (const [, name = ''] of text.matchAll(/^cmdstat_([a-z0-9]+)/gm)) seen.add(name);
  };
  describeTransport('redis with the documented user', async () => {
    const server = await startGuardedRedis();
    const admin = new Redis(server.adminUrl, { maxRetriesPerRequest: null });
    admin.on('error', () => undefined);
    const users = new Map<string, Promise<unknown>>();
    return {
      ...server,
      url: server.url,
      user: async (namespace) => {
        const made =
          users.get(namespace) ?? admin.call('ACL', 'SETUSER', namespace, ...documentedRules('sluice', namespace));
        users.set(namespace, made);
        await made;
        await admin.call('ACL', 'SAVE');
        return { username: namespace, password: 'PASSWORD' };
      },
      stop: async () => {
        await collectSeen(admin);
        await server.stop();
      },
      close: async () => {
        await collectSeen(admin);
        admin.disconnect();
        await server.close();
      },
    };
  });

  it('are examined for every command that a queue runs', () => {
    const known = new Set([...triedCommands, 'publish', 'subscribe', 'psubscribe', 'unsubscribe', ...ofTests]);
    expect([...seen].filter((command) => !known.has(command))).toEqual([]);
    expect(seen.size).toBeGreaterThan(20);
  });
});

describe.skipIf(!redisAvailable)('a Redis with users', () => {
  let server: GuardedRedis;
  let admin: Redis;

  beforeAll(async () => {
    server = await startGuardedRedis();
    admin = new Redis(server.adminUrl);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.close();
  });
  beforeEach(async () => {
    await admin.call('ACL', 'SETUSER', 'sluice', 'reset', ...documentedRules('sluice'));
    await admin.call('ACL', 'SETUSER', 'default', 'reset', ...documentedRules('default'));
  });
  const warnings: string[] = [];
  afterEach(() => void warnings.splice(0));

  const open = () =>
    createTransport({
      url: server.urlOf('sluice'),
      namespace: 'sluice',
      clientName: 'test',
      sealKeys: [sealKey],
      warn: (message) => void warnings.push(message),
    });
  const findings = async () => (await examineRedis(server.urlOf('sluice'), 'sluice')).findings.map(({ text }) => text);

  it('is without findings for the documented users', async () => {
    expect(await findings()).toEqual([]);
  });

  it('makes users of pools for the documented user of migrations', async () => {
    const role = { namespace: 'sluice', pool: 'text', password: 'p'.repeat(32), modelIds: ['m'], modalities: ['chat'] };
    const { url, isKept } = await ensureRedisPoolRole(server.urlOf('sluice-migrate'), role);
    expect(isKept).toBe(true);
    const worker = new Redis(url);
    expect(await worker.ping()).toBe('PONG');
    worker.disconnect();
  });

  it('is used without the right to INFO, which one warning says', async () => {
    await admin.call('ACL', 'SETUSER', 'sluice', '-info');
    const transport = await open();
    await transport.ping();
    await transport.close();
    expect(warnings.filter((warning) => warning.includes('+info'))).toHaveLength(1);
    expect(await findings()).toEqual([expect.stringContaining('its user needs +info')]);
  });

  it.each([
    ['-zadd', 'lacks +zadd:'],
    ['-subscribe', 'lacks +subscribe:'],
    ['-psubscribe', 'lacks +psubscribe:'],
    ['-eval', 'lacks +eval:'],
  ])('is examined for %s', async (rule, expected) => {
    await admin.call('ACL', 'SETUSER', 'sluice', rule);
    expect((await findings()).join('\n')).toContain(expected);
  });

  it('is examined for keys and channels of another namespace', async () => {
    await admin.call('ACL', 'SETUSER', 'sluice', 'resetkeys', '~other:*', 'resetchannels', '&other:*');
    expect((await findings()).join('\n')).toContain('lacks ~sluice:* &sluice:bus:* &sluice:pool-bus:*:');
  });

  it('refuses the start without a right that is needed, and names it', async () => {
    await admin.call('ACL', 'SETUSER', 'sluice', '-subscribe');
    await expect(open()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/lacks a right .*'subscribe'.*docs\/operate\/operations\.md/),
    });
  });

  it('is reported when its memory is nearly used', async () => {
    await admin.config('SET', 'maxmemory', '100kb');
    expect((await findings()).join('\n')).toMatch(/uses \d+ % of its maxmemory/);
    await admin.config('SET', 'maxmemory', '0');
  });

  it('is reported without an append-only file', async () => {
    await admin.config('SET', 'appendonly', 'no');
    expect((await findings()).join('\n')).toContain('set appendonly yes');
    await admin.config('SET', 'appendonly', 'yes');
  });
});

describe.skipIf(!redisAvailable)('a restart of Redis', () => {
  const write = `redis.call('set', 'sluice:a', 1) redis.call('set', 'sluice:b', 1)`;

  it.each([
    ['keeps what scripts wrote while default is off and has its rights', documentedRules('default'), true],
    ['loses what scripts wrote while default has no rights, which is found before', ['off'], false],
  ])('%s', async (_name, rules, isKept) => {
    const server = await startGuardedRedis();
    const admin = new Redis(server.adminUrl, { maxRetriesPerRequest: null });
    admin.on('error', () => undefined);
    try {
      await admin.call('ACL', 'SETUSER', 'default', 'reset', ...rules);
      await admin.call('ACL', 'SAVE');
      const { findings } = await examineRedis(server.urlOf('sluice'), 'sluice');
      expect(findings.map(({ text }) => text)).toEqual(
        isKept ? [] : [expect.stringContaining('loses all jobs at each restart')],
      );
      await admin.eval(write, 0);
      await server.stop({ signal: 'SIGKILL' });
      await server.start();
      expect((await admin.keys('sluice:*')).length).toBe(isKept ? 2 : 0);
    } finally {
      admin.disconnect();
      await server.close();
    }
  });
});
