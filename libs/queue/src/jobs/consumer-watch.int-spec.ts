import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPostgres } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { TcpProxy } from '#test/tcp-proxy';
import { deferred, done, echoJob, sleep, until } from '../conformance/echo-job.conformance.js';
import { collectResults, type ConformanceStore, envelopeFor, World } from '../conformance/fixture.conformance.js';
import type { JobConsumer, JobResult, QueueTransport } from '../contract/transport.js';

const maxWaitMs = 1_000;

interface StalledStore {
  name: string;
  start: () => Promise<ConformanceStore>;
  /** Records what was sent over the connection through which a consumer learns of jobs. */
  listens: string;
}

const stores: StalledStore[] = [{ name: 'postgres', start: startPostgres, listens: 'LISTEN' }];
if (redisAvailable) stores.push({ name: 'redis', start: () => startRedis(), listens: 'bzpopmin' });

describe.each(stores)('a consumer on $name', ({ name, start, listens }) => {
  let world: World;
  let proxy: TcpProxy;
  let api: QueueTransport;
  let consumer: JobConsumer;
  let results: JobResult[];
  const warnings: string[] = [];
  /** Keeps jobs whose text is `slow` running. */
  let release = deferred<null>();

  beforeAll(async () => {
    world = new World(await start());
  });
  afterAll(() => world.store.close());

  beforeEach(async () => {
    warnings.length = 0;
    release = deferred();
    ({ api } = await world.openPair());
    results = await collectResults(api);
    proxy = await TcpProxy.to(world.store.url);
    const warn = (message: string) => void warnings.push(message);
    const worker = await world.open('far', { url: proxy.url, warn });
    consumer = await worker.consume({
      definition: echoJob({ lockMs: 5_000 }),
      modelId: 'tiny-1.5',
      handler: async ({ envelope }) => {
        if (envelope.payload.text === 'slow') await release.promise;
        return done;
      },
      concurrency: 4,
      pickupTimeoutMs: maxWaitMs,
    });
  });

  afterEach(async () => {
    release.resolve(null);
    proxy.restore();
    await world.closeProcesses();
    await proxy.close();
  });

  async function enqueue(text: string): Promise<string> {
    const envelope = envelopeFor(api, { replyTo: null, payload: { text, count: 1 } });
    await api.producer.enqueue(echoJob(), envelope);
    return envelope.requestId;
  }

  const isDone = (requestId: string) => results.some((result) => result.requestId === requestId);

  it('that is stalled is reconnected, and running jobs continue', async () => {
    const slow = await enqueue('slow');
    const first = await enqueue('first');
    await until(() => isDone(first));
    // By now it waits for the next one.
    await sleep(200);
    proxy.break({ isHalfOpen: true, onlyWhere: listens, sparesLater: true });
    const unheard = await enqueue('unheard');
    await until(() => isDone(unheard));
    expect(consumer.restarts).toBe(1);
    expect(consumer.isStalled).toBe(false);
    expect(warnings.filter((warning) => warning.includes('reopened'))).toHaveLength(1);
    release.resolve(null);
    await until(() => isDone(slow));
    await sleep(100);
    expect(results.filter(({ requestId }) => requestId === slow)).toMatchObject([{ status: 'succeeded', retries: 0 }]);
  });

  it('is left alone while jobs arrive', async () => {
    for (let count = 0; count < 30; count += 1) {
      await enqueue(`job ${count}`);
      await sleep(maxWaitMs / 10);
    }
    await until(() => results.length === 30);
    expect(consumer.restarts).toBe(0);
  });

  // On Postgres the same connections count and take jobs, so a silent store is unavailable.
  if (name === 'redis')
    it('that new connections do not help reports that it is stalled, until it takes jobs again', async () => {
      const first = await enqueue('first');
      await until(() => isDone(first));
      proxy.break({ isHalfOpen: true, onlyWhere: 'far-work' });
      const unheard = await enqueue('unheard');
      await until(() => consumer.isStalled, 20_000);
      expect(consumer.restarts).toBe(2);
      expect(warnings.some((warning) => warning.includes('/health/live fails'))).toBe(true);
      expect(isDone(unheard)).toBe(false);
      proxy.restore();
      await until(() => isDone(unheard), 20_000);
      await until(() => !consumer.isStalled);
    });
});
