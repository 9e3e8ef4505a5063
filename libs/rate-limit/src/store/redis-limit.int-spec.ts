import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedRules, startGuardedRedis } from '#test/guarded-redis';
import { redisAvailable, startRedis, type TestRedis } from '#test/redis';
import { describeLimitStore, shortWindow } from './limit-store.conformance.js';
import type { LimitWindow } from './limit-window.js';
import { RedisLimitStore } from './redis-limit.store.js';

const open = (url: string, window: LimitWindow) =>
  RedisLimitStore.open({ url, namespace: 'test', window, warn: () => undefined });

if (redisAvailable) {
  describeLimitStore('Redis', async () => {
    const server = await startRedis();
    return {
      open: (window) => Promise.all([1, 2, 3].map(() => open(server.url, window))),
      close: () => server.close(),
    };
  });

  describeLimitStore('Redis with the documented user', async () => {
    const server = await startGuardedRedis();
    const admin = new Redis(server.adminUrl);
    await admin.call('ACL', 'SETUSER', 'sluice', 'reset', ...documentedRules('sluice', 'test'));
    admin.disconnect();
    return {
      open: (window) => Promise.all([1, 2, 3].map(() => open(server.urlOf('sluice'), window))),
      close: () => server.close(),
    };
  });

  describe('windows in Redis', () => {
    let server: TestRedis;
    let store: RedisLimitStore;
    let admin: Redis;

    beforeAll(async () => {
      server = await startRedis();
      store = await open(server.url, shortWindow);
      admin = new Redis(server.url);
      admin.on('error', () => undefined);
    });
    afterAll(async () => {
      await store.close();
      admin.disconnect();
      await server.close();
    });

    const take = (key: string) => store.take({ guard: 'g', tokens: 1, windows: [{ key, requests: 5, tokens: null }] });

    it('expire soon after their last request, and hold no more fields than a window has slots', async () => {
      await take('a');
      const [key = ''] = await admin.keys('test:limit:*');
      expect(await admin.pttl(key)).toBeGreaterThan(shortWindow.lengthMs / 2);
      expect(await admin.pttl(key)).toBeLessThanOrEqual(shortWindow.lengthMs + 2 * shortWindow.slotMs);
      await admin.hset(key, 'r1', 7, 't1', 7);
      await new Promise((resolve) => setTimeout(resolve, 2 * shortWindow.slotMs));
      expect((await take('a')).states[0]).toMatchObject({ requests: 1, tokens: 1 });
      expect(await admin.hmget(key, 'r1', 't1')).toEqual([null, null]);
    });

    it('stay valid after the server has forgotten its scripts', async () => {
      await take('b');
      await admin.script('FLUSH');
      expect((await take('b')).states[0]).toMatchObject({ requests: 1 });
    });

    it('fail at once while the server is unavailable, and continue when it is back', async () => {
      await server.stop();
      await expect(take('c')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await server.start();
      await expect.poll(async () => (await take('c').catch(() => null))?.granted, { timeout: 10_000 }).toBe(true);
    });
  });
} else {
  describe('windows in Redis', () => {
    it.skip('need a redis-server on the PATH', () => undefined);
  });
}
