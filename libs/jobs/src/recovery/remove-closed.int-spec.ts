import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import { newRequestId } from '#common';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createTransport, type QueueTransport } from '#queue';
import { echoJob } from '#test/echo-job';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { AdmissionService } from '../admission/admission.service.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { RemoveClosedSweep } from './remove-closed.sweep.js';

const secretKey = '5c'.repeat(32);
const namespace = 'closed_test';
const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: 5, reasoningTokens: 0 };
const modelId = 'tiny';
const transports = [
  { kind: 'postgres', available: true },
  { kind: 'redis', available: redisAvailable },
].filter(({ available }) => available);

describe.each(transports)('a queue over $kind that lost its newest changes', ({ kind }) => {
  const logger = createLogger('test', { level: 'silent' });
  let database: TestDatabase;
  let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
  let prisma: PrismaService;
  let transport: QueueTransport;
  let jobs: JobsRepository;
  let caller: Caller;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    redis = kind === 'redis' ? await startRedis() : undefined;
    prisma = new PrismaService({ url: database.url });
    jobs = new JobsRepository(prisma);
    const accounts = new AccountsService(new AccountsRepository(prisma));
    caller = await accounts.authenticate((await accounts.bootstrap())?.inferenceKey ?? '');
    transport = await createTransport({ url: redis?.url ?? database.url, namespace, clientName: 'ops' });
  });

  afterAll(async () => {
    await transport.close();
    await prisma.$disconnect();
    await database.drop();
    await redis?.close();
  });

  async function admit(): Promise<string> {
    const admission = AdmissionService.of({
      jobs,
      closer: new JobCloser(jobs),
      cipher: new PayloadCipher(secretKey),
      tickets: new ResultTickets(secretKey),
      transport,
      logger,
      queueLimit: 100,
    });
    const requestId = newRequestId('TST');
    const payload = { text: 'hello' };
    const parts = { caller, definition: echoJob, modelId, payload, bounds: usage, replyTo: null, stream: false };
    await admission.open({ requestId, ...parts });
    return requestId;
  }

  const close = (requestId: string) =>
    new JobCloser(jobs).close({
      requestId,
      attempt: 1,
      state: 'failed',
      errorCode: 'DEVICE_LOST',
      usage,
      executionMs: 0,
    });
  const sweep = (everyMs = 0) =>
    new RemoveClosedSweep({
      jobs,
      producer: transport.producer,
      queues: async () => [{ modality: 'echo', modelId }],
      logger,
      confirmMs: 0,
      everyMs,
    });
  const waiting = async () => {
    const { active: _taken, ...counts } = await transport.producer.counts('echo', modelId);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  };

  it('gets rid of entries whose rows are closed, and keeps the others: counts agree with rows', async () => {
    const [open, ...closed] = await Promise.all(Array.from({ length: 5 }, admit));
    for (const requestId of closed) await close(requestId);
    if (redis !== undefined) {
      // An entry in the list of waiting jobs, without its job.
      const server = new Redis(redis.url);
      await server.del(`${namespace}:echo.${modelId}:${closed[0]}`);
      server.disconnect();
    }
    expect(await waiting()).toBe(5);
    const confirming = sweep();
    const counts = [await confirming.run(), await confirming.run()];
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(4);
    expect(await waiting()).toBe(1);
    expect(await transport.producer.listWaiting('echo', modelId, { first: 0, count: 10 })).toEqual([open]);

    // An entry of a model whose last row is closed.
    await close(open ?? '');
    await confirming.run();
    await confirming.run();
    expect(await waiting()).toBe(0);
  });

  it('is not listed while its entries have rows', async () => {
    const requestId = await admit();
    let listings = 0;
    const producer = {
      counts: () => transport.producer.counts('echo', modelId),
      listWaiting: async () => ((listings += 1), []),
      remove: () => Promise.reject(new Error('nothing is to be removed')),
    };
    const queues = async () => [{ modality: 'echo', modelId }];
    const idle = new RemoveClosedSweep({ jobs, producer, queues, logger, confirmMs: 0, everyMs: 0 });
    expect([await idle.run(), await idle.run(), listings]).toEqual([0, 0, 0]);
    await transport.producer.remove('echo', modelId, requestId);
    await close(requestId);
  });
});
