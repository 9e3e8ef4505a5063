import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisAvailable, startRedis, type TestRedis } from '#test/redis';
import { createTransport } from './transport/create-transport.js';
import { heartbeat, until } from './conformance/echo-job.conformance.js';
import { defineJob } from './contract/job-definition.js';
import { describeTransport } from './transport.conformance.js';
import type { ReplyEvent, JobResult, QueueTransport, TransportOptions } from './contract/transport.js';

class EmptyPayload {}

const job = defineJob({
  modality: 'echo',
  payload: EmptyPayload,
  result: EmptyPayload,
  policy: { attempts: 1, lockMs: 5_000, deadlineMs: 60_000, stalledMax: 0, concurrency: 1 },
});

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

if (redisAvailable) {
  describeTransport('redis', () => startRedis(['--appendonly', 'yes', '--appendfsync', 'everysec']));

  describe('redis', () => {
    let server: TestRedis;
    let admin: Redis;
    const warnings: string[] = [];

    beforeAll(async () => {
      server = await startRedis();
      admin = new Redis(server.url);
    });
    afterAll(async () => {
      admin.disconnect();
      await server.close();
    });

    function open(options: Partial<TransportOptions> = {}): Promise<QueueTransport> {
      const warn = (message: string) => void warnings.push(message);
      return createTransport({ url: server.url, namespace: 'own', clientName: 'test', warn, ...options });
    }

    it('is one warning when it goes away and one when it is back, for all queues together', async () => {
      const warnings: string[] = [];
      const warn = (message: string) => void warnings.push(message);
      const transport = await createTransport({ url: server.url, namespace: 'outage', clientName: 'api', warn });
      try {
        const queues = Array.from({ length: 10 }, (_, index) => `model-${index}`);
        const countAll = () => Promise.allSettled(queues.map((modelId) => transport.producer.counts('echo', modelId)));
        await countAll();
        warnings.length = 0;
        await server.stop();
        for (let round = 0; round < 5; round += 1) await countAll();
        await expect.poll(() => warnings, { timeout: 20_000 }).toHaveLength(1);
        await server.start();
        await expect.poll(() => warnings.length, { timeout: 20_000 }).toBe(2);
        expect(warnings[0]).toMatch(/^The store of the queue is not available: /);
        expect(warnings[1]).toMatch(/^The store of the queue is available again after .* errors in between\.$/);
      } finally {
        await transport.close();
      }
    });

    it('warns when the server may evict jobs', async () => {
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await (await open()).close();
      await admin.config('SET', 'maxmemory-policy', 'noeviction');
      expect(warnings.some((warning) => warning.includes('allkeys-lru'))).toBe(true);
    });

    it('starts with a user whose channels are limited to the namespace, and says what it needs to hear pools', async () => {
      const rules = ['on', '>secret', '~own:*', 'resetchannels', '&own:*', '+@all'];
      await admin.call('ACL', 'SETUSER', 'limited', ...rules);
      const url = Object.assign(new URL(server.url), { username: 'limited', password: 'secret' }).href;
      const seen: string[] = [];
      const warn = (message: string) => void seen.push(message);
      const [one, other] = [await open({ url, warn }), await open({ url, warn: () => undefined })];
      await other.membership.join(() => heartbeat('other', null));
      await until(() => one.membership.list().some(({ processId }) => processId === 'other'));
      expect(seen.filter((message) => message.includes('&own:bus:* &own:pool-bus:*'))).toHaveLength(1);
      await admin.call('ACL', 'SETUSER', 'limited', '&own:pool-bus:*');
      const rights = new Redis(url);
      await rights.psubscribe('own:pool-bus:*');
      rights.disconnect();
      await Promise.all([one.close(), other.close()]);
    });

    it('carries a stream over a FLUSHALL', async () => {
      const transport = await open();
      await transport.replies.start();
      const replyStream = transport.replies.open({ requestId: 'stream', modelId: 'm' });
      const writer = transport.replies.writer(transport.replies.address, { requestId: 'stream', modelId: 'm' });
      writer.send({ type: 'one' });
      const events: ReplyEvent[] = [];
      const reading = (async () => {
        for await (const event of replyStream) events.push(event);
      })();
      await sleep(50);
      await admin.flushall();
      writer.send({ type: 'two' }, { type: 'job-finished' });
      await reading;
      expect(events.map(({ type }) => type)).toEqual(['one', 'two', 'job-finished']);
      await transport.close();
    });

    it('refuses new work and reports not ready at its memory limit, and recovers by itself', async () => {
      const transport = await open();
      const envelope = {
        requestId: 'r1',
        modality: 'echo',
        modelId: 'm',
        attempt: 1,
        deadlineAtMs: Date.now() + 60_000,
        replyTo: null,
        payload: {},
      };
      await admin.config('SET', 'maxmemory', '100kb');
      await expect(transport.ping()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await expect(transport.producer.enqueue(job, envelope)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await admin.config('SET', 'maxmemory', '0');
      await transport.ping();
      await transport.producer.enqueue(job, envelope);
      expect(await transport.producer.holds('echo', 'm', 'r1')).toBe(true);
      await transport.close();
    });

    it('keeps running jobs and their locks while it is at its limit', async () => {
      const [api, worker] = [await open(), await open()];
      const ended: JobResult[] = [];
      await api.results.process(async (result) => void ended.push(result));
      const lockMs = 1_000;
      let runs = 0;
      const begun = new Promise<void>((resolve) => {
        void worker.consume({
          definition: defineJob({ ...job, policy: { ...job.policy, lockMs } }),
          modelId: 'held',
          handler: async () => {
            runs += 1;
            resolve();
            await sleep(5 * lockMs);
            return { usage: null, cancelled: false, executionMs: 1 };
          },
        });
      });
      const envelope = {
        requestId: 'held-1',
        modality: 'echo',
        modelId: 'held',
        attempt: 1,
        deadlineAtMs: Date.now() + 60_000,
        replyTo: null,
        payload: {},
      };
      await api.producer.enqueue(job, envelope);
      await begun;
      await admin.config('SET', 'maxmemory', '100kb');
      await sleep(3.5 * lockMs);
      await admin.config('SET', 'maxmemory', '0');
      await expect.poll(() => ended.length, { timeout: 10_000 }).toBe(1);
      expect(ended).toMatchObject([{ requestId: 'held-1', status: 'succeeded', retries: 0 }]);
      expect(runs).toBe(1);
      await Promise.all([api.close(), worker.close()]);
    });

    it('is not ready while the server evicts at its limit, and says what to configure', async () => {
      const transport = await open();
      await admin.config('SET', 'maxmemory', '1gb', 'maxmemory-policy', 'volatile-lru');
      await expect(transport.ping()).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining('Set it to noeviction'),
      });
      await admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
      await transport.ping();
      await transport.close();
    });
  });
} else {
  describe('redis transport', () => {
    it.skip('needs a redis-server on the PATH', () => undefined);
  });
}
