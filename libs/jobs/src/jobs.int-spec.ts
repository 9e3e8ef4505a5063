import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import { newRequestId, PlatformError, StoreBudget } from '#common';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import {
  createTransport,
  defineJob,
  type JobConsumer,
  type JobResult,
  type QueueTransport,
  type RunningJob,
} from '#queue';
import { TokenReservation } from '#rate-limit';
import { type EchoPayload, echoJob } from '#test/echo-job';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { AccountTurns } from './admission/account-turns.js';
import { type AdmissionOptions, AdmissionService } from './admission/admission.service.js';
import type { OpenRequest } from './admission/open-request.js';
import { JobCloser } from './lifecycle/job-closer.js';
import type { AdmissionStep, ClosedListener, ClosingStep } from './lifecycle/job-states.js';
import { JobsRepository } from './lifecycle/jobs.repository.js';
import { JobsService } from './lifecycle/jobs.service.js';
import { JobResultProcessor } from './lifecycle/job-result.processor.js';
import { PayloadCipher } from './admission/payload-cipher.js';
import { ResultTickets } from './tickets/result-tickets.js';
import {
  ExpireOverdueSweep,
  FailAbandonedSweep,
  ResultBacklog,
  type RequeueLostOptions,
  RequeueLostSweep,
} from './recovery/index.js';

/** The queue itself retries it, twice. */
const waitingJob = defineJob({ ...echoJob, policy: { ...echoJob.policy, attempts: 3 } });

const definitions = new Map([['echo', echoJob]]);
const logger = createLogger('test', { level: 'silent' });
const secretKey = '5c'.repeat(32);
const tickets = new ResultTickets(secretKey);
const cipher = new PayloadCipher(secretKey);
const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: 5, reasoningTokens: 0 };

interface Row {
  state: string;
  attempt: number;
  error_code: string | null;
  completion_tokens: number | null;
  payloads: number;
}

const transports = [
  { kind: 'postgres', available: true },
  { kind: 'redis', available: redisAvailable },
].filter(({ available }) => available);

describe.each(transports)('jobs over $kind', ({ kind }) => {
  let database: TestDatabase;
  let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
  let prisma: PrismaService;
  let client: pg.Client;
  let jobs: JobsRepository;
  let caller: Caller;
  let transport: QueueTransport;
  let consumers: JobConsumer[];
  let processors: { close(): Promise<void> }[];

  beforeAll(async () => {
    database = await createMigratedDatabase();
    redis = kind === 'redis' ? await startRedis() : undefined;
    prisma = new PrismaService({ url: database.url });
    client = new pg.Client(database.url);
    await client.connect();
    jobs = new JobsRepository(prisma);
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const keys = await accounts.bootstrap();
    caller = await accounts.authenticate(keys?.inferenceKey ?? '');
    transport = await createTransport({
      url: redis?.url ?? database.url,
      namespace: 'jobs_test',
      clientName: 'ops',
    });
    await transport.replies.start();
  });

  afterAll(async () => {
    await transport.close();
    await prisma.$disconnect();
    await client.end();
    await database.drop();
    await redis?.close();
  });

  beforeEach(() => {
    consumers = [];
    processors = [];
  });

  afterEach(async () => {
    await Promise.all(consumers.map((consumer) => consumer.close(0)));
    await Promise.all(processors.map((processor) => processor.close()));
  });

  function admission(
    options: Pick<AdmissionOptions, 'steps' | 'turns'> & {
      closing?: ClosingStep[];
      queueLimit?: number;
      over?: QueueTransport;
    } = {},
  ) {
    return AdmissionService.of({
      jobs,
      closer: new JobCloser(jobs, options.closing),
      cipher,
      tickets,
      transport: options.over ?? transport,
      logger,
      queueLimit: options.queueLimit ?? 1_000,
      steps: options.steps,
      turns: options.turns,
    });
  }

  function request(overrides: Partial<OpenRequest> = {}): OpenRequest {
    return {
      requestId: newRequestId('TST'),
      caller,
      definition: echoJob,
      modelId: `model-${Math.random().toString(36).slice(2)}`,
      payload: { text: 'hello' },
      bounds: usage,
      replyTo: null,
      stream: false,
      ...overrides,
    };
  }

  async function row(requestId: string): Promise<Row | undefined> {
    const { rows } = await client.query<Row>(
      `SELECT state::text, attempt, error_code, completion_tokens,
              (SELECT count(*)::int FROM job_payloads p WHERE p.request_id = j.request_id) AS payloads
         FROM jobs j WHERE request_id = $1`,
      [requestId],
    );
    return rows[0];
  }

  async function openWorker(processId: string): Promise<QueueTransport> {
    const worker = await createTransport({ url: redis?.url ?? database.url, namespace: 'jobs_test', clientName: 'w' });
    processors.push(worker);
    await worker.membership.join(() => ({ processId, role: 'worker', replyAddress: null, models: [] }));
    return worker;
  }

  async function consume(modelId: string, handler: (job: RunningJob<EchoPayload>) => Promise<void>): Promise<void> {
    const run = async (job: RunningJob<EchoPayload>) => {
      await handler(job);
      return { usage, cancelled: false, executionMs: 12 };
    };
    consumers.push(await transport.consume({ definition: echoJob, modelId, handler: run }));
  }

  async function processResults(
    closing: ClosingStep[] = [],
    heard: (result: JobResult) => void = () => undefined,
  ): Promise<JobResultProcessor> {
    const processor = new JobResultProcessor({ closer: new JobCloser(jobs, closing), tickets, logger });
    processors.push(await transport.results.process((each) => (heard(each), processor.process(each))));
    return processor;
  }

  const result = (requestId: string, overrides: Partial<JobResult> = {}): JobResult => {
    const { modality } = echoJob;
    const base = { requestId, attempt: 1, modality, modelId: 'any', retries: 0, error: null, usage, executionMs: 12 };
    return tickets.sign({ ...base, status: 'succeeded', finishedAtMs: Date.now(), ...overrides }, usage);
  };

  const processor = (closing: ClosingStep[] = []) =>
    new JobResultProcessor({ closer: new JobCloser(jobs, closing), tickets, logger });

  const requeue = (given: Partial<RequeueLostOptions> = {}) =>
    new RequeueLostSweep({
      jobs,
      producer: transport.producer,
      cipher,
      tickets,
      definitions,
      logger,
      lostAfterMs: 0,
      confirmMs: 0,
      resultBacklog: async () => true,
      ...given,
    });

  it('takes a job from admission through a worker to a closed row without its payload', async () => {
    const opened = request();
    const seen: unknown[] = [];
    await consume(opened.modelId, (job) => {
      seen.push(job.envelope);
      return Promise.resolve();
    });
    await processResults();
    const job = await admission().open(opened);
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('succeeded');
    expect(await row(opened.requestId)).toEqual({
      state: 'succeeded',
      attempt: 1,
      error_code: null,
      completion_tokens: 5,
      payloads: 0,
    });
    expect(seen).toMatchObject([{ requestId: opened.requestId, attempt: 1, deadlineAtMs: job.deadlineAtMs }]);
  });

  it('keeps the payload unreadable while the row is open', async () => {
    const opened = request({ payload: { text: 'nobody reads this' } });
    await admission().open(opened);
    const { rows } = await client.query<{ ciphertext: Buffer }>(
      'SELECT ciphertext FROM job_payloads WHERE request_id = $1',
      [opened.requestId],
    );
    expect(rows[0]?.ciphertext.includes('nobody')).toBe(false);
  });

  it('admits nothing when a step refuses', async () => {
    const opened = request();
    const refusal = new PlatformError('INSUFFICIENT_BALANCE', 'No money.');
    const step: AdmissionStep = { admit: () => Promise.resolve([refusal]) };
    await expect(admission({ steps: [step] }).open(opened)).rejects.toBe(refusal);
    expect(await row(opened.requestId)).toBeUndefined();
    expect(await transport.producer.holds('echo', opened.modelId, opened.requestId)).toBe(false);
  });

  it('closes the row, and runs the closing steps, when the queue does not accept the job', async () => {
    const opened = request();
    const released: string[] = [];
    const step: ClosingStep = {
      close: (_transaction, closed) => Promise.resolve(void released.push(...closed.map((job) => job.requestId))),
    };
    const producer = {
      ...bound(transport.producer),
      enqueue: () => Promise.reject(new Error('redis at 10.0.0.1 is away')),
    };
    const broken: QueueTransport = Object.create(transport, { producer: { value: producer } }) as QueueTransport;
    await expect(admission({ over: broken, closing: [step] }).open(opened)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.not.stringContaining('10.0.0.1') as string,
    });
    expect(await row(opened.requestId)).toMatchObject({
      state: 'failed',
      error_code: 'SERVICE_UNAVAILABLE',
      payloads: 0,
    });
    expect(released).toEqual([opened.requestId]);
  });

  it('refuses the same request id twice', async () => {
    const opened = request();
    await admission().open(opened);
    await expect(admission().open(opened)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    // The refused request does not own the row: nothing may close it.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await row(opened.requestId)).toMatchObject({ state: 'queued', attempt: 1 });
  });

  it('rejects with MODEL_AT_CAPACITY when enough jobs of that model wait', async () => {
    const service = admission({ queueLimit: 2 });
    const first = request();
    await service.open(first);
    await service.open(request({ modelId: first.modelId }));
    await expect(service.open(request({ modelId: first.modelId }))).rejects.toMatchObject({
      code: 'MODEL_AT_CAPACITY',
    });
    await service.open(request());
  });

  it('admits no more of a burst than may wait', async () => {
    const service = admission({ queueLimit: 2 });
    const { modelId } = request();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => service.open(request({ modelId }))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await transport.producer.counts('echo', modelId)).toMatchObject({ waiting: 2 });
  });

  it('removes a waiting job when it is cancelled, and closes it without usage', async () => {
    const opened = request();
    await admission().open(opened);
    await processResults();
    await new JobsService(jobs, tickets, transport, logger).cancel(opened.requestId);
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('cancelled');
    expect(await row(opened.requestId)).toMatchObject({
      completion_tokens: 0,
      error_code: 'JOB_CANCELLED',
      payloads: 0,
    });
    expect(await transport.producer.holds('echo', opened.modelId, opened.requestId)).toBe(false);
  });

  it('tells the client of a waiting job that an operator cancels', async () => {
    const opened = request({ replyTo: transport.replies.address });
    const replies = transport.replies.open(opened);
    await admission().open(opened);
    await processResults();
    await new JobsService(jobs, tickets, transport, logger).cancel(opened.requestId, 'An operator cancelled it.');
    const events: unknown[] = [];
    for await (const event of replies) events.push(event);
    expect(events).toMatchObject([
      { type: 'job-failed', error: { code: 'JOB_CANCELLED', message: 'An operator cancelled it.' } },
    ]);
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('cancelled');
  });

  it('reports a cancelled job again, and to workers at once, while the queue does not accept it', async () => {
    const opened = request();
    await admission().open(opened);
    await processResults();
    const cancelled: string[] = [];
    let failures = 2;
    const results: Pick<QueueTransport['results'], 'report'> = {
      report: async (each) => {
        failures -= 1;
        if (failures >= 0) throw new Error('the queue is full');
        await transport.results.report(each);
      },
    };
    const cancelBus = { cancel: async (requestId: string) => void cancelled.push(requestId) };
    const full = { results: { value: results }, cancelBus: { value: cancelBus } };
    const over = Object.create(transport, full) as QueueTransport;
    await new JobsService(jobs, tickets, over, logger).cancel(opened.requestId);
    // After the two that failed, and after the late one.
    expect(cancelled).toEqual(Array(3).fill(opened.requestId));
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('cancelled');
  });

  it('survives a bus that is unavailable when it cancels', async () => {
    const opened = request();
    let hasStarted = false;
    await consume(opened.modelId, async ({ signal }) => {
      hasStarted = true;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    });
    await admission().open(opened);
    await expect.poll(() => hasStarted, { timeout: 20_000 }).toBe(true);
    const cancelBus = { cancel: () => Promise.reject(new Error('away')) };
    const stalledConsumers = Object.create(transport, { cancelBus: { value: cancelBus } }) as QueueTransport;
    // Whichever rejects first must be this call, and nothing behind it.
    await expect(new JobsService(jobs, tickets, stalledConsumers, logger).cancel(opened.requestId)).rejects.toThrow(
      'away',
    );
    await transport.cancelBus.cancel(opened.requestId);
  });

  it('notifies the worker when a running job is cancelled', async () => {
    const opened = request();
    const service = new JobsService(jobs, tickets, transport, logger);
    await consume(opened.modelId, async (job) => {
      service.markStarted(opened.requestId);
      await new Promise<void>((resolve) => job.signal.addEventListener('abort', () => resolve(), { once: true }));
    });
    await processResults();
    await admission().open(opened);
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('running');
    await service.cancel(opened.requestId);
    await expect
      .poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 })
      .toMatch(/succeeded|cancelled/);
    await service.close();
  });

  it('leaves closed and unknown jobs unchanged when they are cancelled', async () => {
    const opened = request();
    await admission().open(opened);
    await processor().process(result(opened.requestId));
    const service = new JobsService(jobs, tickets, transport, logger);
    await service.cancel(opened.requestId);
    await service.cancel('no-such-request');
    expect(await row(opened.requestId)).toMatchObject({ state: 'succeeded' });
  });

  it('closes a row once, however often and wherever its result arrives', async () => {
    const opened = request();
    await admission().open(opened);
    let settled = 0;
    const step: ClosingStep = { close: () => Promise.resolve(void (settled += 1)) };
    await Promise.all(Array.from({ length: 8 }, () => processor([step]).process(result(opened.requestId))));
    await processor([step]).process(result(opened.requestId, { status: 'failed', usage: null }));
    expect(settled).toBe(1);
    expect(await row(opened.requestId)).toMatchObject({ state: 'succeeded', completion_tokens: 5 });
  });

  it('closes nothing when a closing step fails, and everything when the result is delivered again', async () => {
    const opened = request();
    await admission().open(opened);
    const step: ClosingStep = { close: () => Promise.reject(new Error('ledger is away')) };
    const failing = processor([step]);
    await expect(failing.process(result(opened.requestId))).rejects.toThrow('ledger');
    expect(await row(opened.requestId)).toMatchObject({ state: 'queued', payloads: 1 });
    await processor().process(result(opened.requestId));
    expect(await row(opened.requestId)).toMatchObject({ state: 'succeeded', payloads: 0 });
  });

  it('rejects a zombie: the result of an abandoned attempt changes nothing', async () => {
    const opened = request();
    await admission().open(opened);
    await transport.producer.remove('echo', opened.modelId, opened.requestId);
    expect(await requeue().run()).toBeGreaterThan(0);
    expect(await row(opened.requestId)).toMatchObject({ state: 'queued', attempt: 2 });
    await processor().process(result(opened.requestId, { attempt: 1 }));
    expect(await row(opened.requestId)).toMatchObject({ state: 'queued', attempt: 2 });
    await processor().process(result(opened.requestId, { attempt: 2 }));
    expect(await row(opened.requestId)).toMatchObject({ state: 'succeeded', attempt: 2 });
  });

  it('closes a row whose job the queue retried by itself, and rejects such a delivery once it was abandoned', async () => {
    const opened = request({ definition: waitingJob });
    const reported: JobResult[] = [];
    let runs = 0;
    await consume(opened.modelId, () => {
      runs += 1;
      return runs < 3 ? Promise.reject(new PlatformError('MODEL_AT_CAPACITY', 'No slot is free.')) : Promise.resolve();
    });
    await processResults([], (each) => reported.push(each));
    await admission().open(opened);
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('succeeded');
    expect(reported).toMatchObject([{ requestId: opened.requestId, attempt: 1, retries: 2 }]);
    expect(await row(opened.requestId)).toMatchObject({ attempt: 1, completion_tokens: 5, payloads: 0 });

    const lost = request({ definition: waitingJob });
    await admission().open(lost);
    await transport.producer.remove('echo', lost.modelId, lost.requestId);
    await requeue().run();
    // However often the queue has retried the abandoned delivery, its result is older than the row.
    await processor().process(result(lost.requestId, { attempt: 1, retries: 2 }));
    expect(await row(lost.requestId)).toMatchObject({ state: 'queued', attempt: 2, payloads: 1 });
    await processor().process(result(lost.requestId, { attempt: 2 }));
    expect(await row(lost.requestId)).toMatchObject({ state: 'succeeded', attempt: 2 });
  });

  it('re-enqueues a job that the queue has lost, once, with its payload', async () => {
    const opened = request({ payload: { text: 'still here' } });
    await admission().open(opened);
    await transport.producer.remove('echo', opened.modelId, opened.requestId);
    // Old enough for one more attempt: the second sweep finds a row that was just enqueued.
    await client.query(`UPDATE jobs SET enqueued_at = now() - interval '1 minute' WHERE request_id = $1`, [
      opened.requestId,
    ]);
    await Promise.all([requeue({ lostAfterMs: 30_000 }).run(), requeue({ lostAfterMs: 30_000 }).run()]);
    expect(await row(opened.requestId)).toMatchObject({ attempt: 2 });
    const seen: object[] = [];
    await consume(opened.modelId, (job) => Promise.resolve(void seen.push(job.envelope)));
    await processResults();
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('succeeded');
    expect(seen).toMatchObject([{ attempt: 2, payload: { text: 'still here' } }]);
  });

  it('leaves a job that the queue has lost to the one worker that can run it', async () => {
    const [first, second] = await Promise.all(['worker-1', 'worker-2'].map(openWorker));
    const opened = request({ onlyWorkerId: 'worker-2' });
    await admission().open(opened);
    await transport.producer.remove('echo', opened.modelId, opened.requestId);
    await requeue().run();
    await processResults();
    const seen: string[] = [];
    await expect.poll(() => first!.membership.list().map(({ processId }) => processId)).toContain('worker-2');
    // The other one looks at it first, and puts it off.
    for (const [name, worker] of Object.entries({ 'worker-1': first, 'worker-2': second })) {
      const handler = async () => (seen.push(name), { usage, cancelled: false, executionMs: 12 });
      consumers.push(await worker!.consume({ definition: echoJob, modelId: opened.modelId, handler }));
    }
    await expect.poll(async () => (await row(opened.requestId))?.state, { timeout: 20_000 }).toBe('succeeded');
    expect(seen).toEqual(['worker-2']);
  });

  if (kind === 'redis')
    it('rebuilds the queue from the database after FLUSHALL', async () => {
      const opened = Array.from({ length: 5 }, () => request());
      for (const each of opened) await admission().open(each);
      const server = new Redis(redis?.url ?? '');
      await server.flushall();
      server.disconnect();
      await requeue().run();
      await processResults();
      for (const { modelId } of opened) await consume(modelId, () => Promise.resolve());
      for (const { requestId } of opened) {
        await expect.poll(async () => (await row(requestId))?.state, { timeout: 30_000 }).toBe('succeeded');
        expect(await row(requestId)).toMatchObject({ attempt: 2, payloads: 0 });
      }
    });

  it('gives jobs the turn of their account, before its other jobs when they were lost', async () => {
    const turns = new AccountTurns(secretKey);
    const given: unknown[] = [];
    const producer: QueueTransport['producer'] = {
      ...bound(transport.producer),
      enqueue: (_definition, _envelope, options) => Promise.resolve(void given.push(options?.turn)),
    };
    const opened = request();
    await admission({ over: { ...transport, producer } as QueueTransport, turns }).open(opened);
    const turn = turns.turnOf(caller);
    expect(turn?.account).toBeDefined();
    expect(given).toEqual([turn]);
    const sweep = requeue({ producer, turns });
    await expect
      .poll(async () => (await sweep.run(), given), { timeout: 20_000 })
      .toContainEqual({ ...turn, isRecovered: true });
  });

  it('finds a lost job behind any number of older waiting ones', async () => {
    const lost = request();
    const waiting = Array.from({ length: 5 }, () => request());
    for (const each of [...waiting, lost]) await admission().open(each);
    await transport.producer.remove('echo', lost.modelId, lost.requestId);
    // Two of them have the same time as the lost one.
    await client.query(
      `UPDATE jobs SET enqueued_at = date_trunc('second', now()) - interval '90 s'
                                   - CASE WHEN request_id = ANY ($1) THEN interval '30 s' ELSE interval '0 s' END
        WHERE request_id = ANY ($2)`,
      [waiting.slice(0, 3).map(({ requestId }) => requestId), [...waiting, lost].map(({ requestId }) => requestId)],
    );
    const sweep = requeue({ lostAfterMs: 60_000, pageRows: 2 });
    await sweep.run();
    expect(await row(lost.requestId)).toMatchObject({ attempt: 2 });
    for (const { requestId } of waiting) expect(await row(requestId)).toMatchObject({ attempt: 1 });
  });

  it('fails a lost job behind any number of older running ones, and expires all that are overdue', async () => {
    const lost = request({ replyTo: transport.replies.address });
    const running = Array.from({ length: 4 }, () => request());
    const all = [...running, lost].map(({ requestId }) => requestId);
    for (const each of [...running, lost]) await admission().open(each);
    await transport.producer.remove('echo', lost.modelId, lost.requestId);
    await jobs.markRunning(all);
    const longAgo = `UPDATE jobs SET started_at = now() - interval '1 hour' WHERE request_id = ANY ($1)`;
    await client.query(longAgo, [running.map(({ requestId }) => requestId)]);
    const common = { jobs, closer: new JobCloser(jobs), transport, logger, definitions, cipher, tickets };
    const options = { ...common, resultBacklog: async () => true, pageRows: 2, confirmMs: 0 };
    await new FailAbandonedSweep(options).run();
    expect(await row(lost.requestId)).toMatchObject({ state: 'failed' });
    const overdue = `UPDATE jobs SET deadline_at = now() - interval '1 minute' WHERE request_id = ANY ($1)`;
    await client.query(overdue, [all]);
    await new ExpireOverdueSweep({ ...options, graceMs: 0 }).run();
    for (const { requestId } of running) expect(await row(requestId)).toMatchObject({ state: 'expired' });
  });

  it('leaves a job alone that the queue holds, and one that has only just gone missing', async () => {
    const held = request();
    const missing = request();
    await admission().open(held);
    await admission().open(missing);
    await transport.producer.remove('echo', missing.modelId, missing.requestId);
    await requeue({ confirmMs: 60_000 }).run();
    await requeue().run();
    expect(await row(held.requestId)).toMatchObject({ attempt: 1 });
    const patient = requeue({ confirmMs: 60_000 });
    const attemptBefore = (await row(missing.requestId))?.attempt;
    await patient.run();
    expect((await row(missing.requestId))?.attempt).toBe(attemptBefore);
  });

  it('expires rows past their deadline, and notifies the waiting reader', async () => {
    const requestId = newRequestId('TST');
    const late = request({ requestId, deadlineMs: 1, replyTo: transport.replies.address });
    const slot = transport.replies.open(late);
    await admission().open(late);
    const common = { jobs, closer: new JobCloser(jobs), transport, logger, resultBacklog: async () => true };
    const sweep = () => new ExpireOverdueSweep({ ...common, graceMs: 0, confirmMs: 0 });
    await expect.poll(async () => (await sweep().run(), (await row(requestId))?.state)).toBe('expired');
    expect(await row(requestId)).toMatchObject({ error_code: 'REQUEST_TIMEOUT', payloads: 0 });
    for await (const event of slot) {
      expect(event).toMatchObject({ type: 'job-failed', error: { code: 'REQUEST_TIMEOUT' } });
      break;
    }
    slot.close();
  });

  it('leaves no row open whose commit ended in a lost connection', async () => {
    const opened = request();
    const stalledConsumers = Object.create(jobs) as JobsRepository;
    stalledConsumers.transaction = async (work) => {
      await jobs.transaction(work);
      throw new Error('the connection was lost');
    };
    const closer = new JobCloser(jobs);
    const service = AdmissionService.of({
      jobs: stalledConsumers,
      closer,
      cipher,
      tickets,
      transport,
      logger,
      queueLimit: 1_000,
    });
    await expect(service.open(opened)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect.poll(async () => (await row(opened.requestId))?.state).toBe('failed');
    expect(await row(opened.requestId)).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', payloads: 0 });
  });

  it('leaves no row open that was written before a retry was refused', async () => {
    const { modelId } = request();
    const both = [request({ modelId }), request({ modelId })];
    let tries = 0;
    const stalledConsumers = Object.create(jobs) as JobsRepository;
    stalledConsumers.transaction = async (work) => {
      const result = await jobs.transaction(work);
      // The two are one group; then each is retried alone.
      if (tries === 1) throw new Error('the connection was lost');
      return result;
    };
    const refused = () => new PlatformError('IDEMPOTENCY_KEY_IN_USE', 'Its client has disconnected.');
    const step: AdmissionStep = {
      admit: (_transaction, admissions) => {
        tries += 1;
        return Promise.resolve(admissions.map(() => (tries === 1 ? null : refused())));
      },
    };
    const common = {
      jobs: stalledConsumers,
      closer: new JobCloser(jobs),
      cipher,
      tickets,
      transport,
      logger,
    };
    const service = AdmissionService.of({ ...common, queueLimit: 1_000, steps: [step] });
    const unavailable = { status: 'rejected', reason: { code: 'SERVICE_UNAVAILABLE' } };
    expect(await Promise.allSettled(both.map((each) => service.open(each)))).toMatchObject([unavailable, unavailable]);
    expect(tries).toBe(3);
    for (const { requestId } of both) {
      await expect.poll(async () => (await row(requestId))?.state, { timeout: 20_000 }).toBe('failed');
    }
  });

  it('keeps no caller longer than its budget, and no row that is written after it', async () => {
    const opened = request();
    let write: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (write = resolve));
    const slow = Object.create(jobs) as JobsRepository;
    slow.transaction = (work) => held.then(() => jobs.transaction(work));
    const closer = new JobCloser(jobs);
    const common = { jobs: slow, closer, cipher, tickets, transport, logger, queueLimit: 1_000 };
    // Long enough that the transaction begins within it on a busy machine, too.
    const service = AdmissionService.of({ ...common, budgetOf: () => new StoreBudget(500) });
    await expect(service.open(opened)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await row(opened.requestId)).toBeUndefined();
    write();
    await expect.poll(async () => (await row(opened.requestId))?.state).toBe('failed');
    expect(await row(opened.requestId)).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE', payloads: 0 });
    expect(await transport.producer.holds('echo', opened.modelId, opened.requestId)).toBe(false);
  });

  it('refunds reserved tokens once, by the row where one may have been written', async () => {
    const given: string[] = [];
    const reservation = (name: string) => new TokenReservation(7, 100, () => void given.push(name));
    const byRow: string[] = [];
    const note: ClosedListener = ({ requestId, reservedTokens }) =>
      void (reservedTokens?.tokens === 100 && byRow.push(requestId));
    const open = async (name: string, transaction: JobsRepository['transaction'], steps: AdmissionStep[] = []) => {
      const repository = Object.assign(Object.create(jobs) as JobsRepository, { transaction });
      const closer = new JobCloser(jobs, [], [note]);
      const common = {
        jobs: repository,
        closer,
        cipher,
        tickets,
        transport,
        logger,
        steps,
      };
      const tokens = reservation(name);
      const opened = request({ tokenReservation: tokens });
      await AdmissionService.of({ ...common, queueLimit: 1_000 })
        .open(opened)
        .catch(() => undefined);
      // The request has its response.
      tokens.release();
      return opened.requestId;
    };
    const ambiguous = await open('ambiguous', async (work) => {
      await jobs.transaction(work);
      throw new Error('the connection was lost');
    });
    await expect.poll(() => byRow).toEqual([ambiguous]);
    const step: AdmissionStep = { admit: async () => [new PlatformError('INSUFFICIENT_BALANCE', 'No money.')] };
    await open('refused', (work) => jobs.transaction(work), [step]);
    const full = Object.assign(new Error('no room'), { code: '53100' });
    await open('rolled back', () => Promise.reject(full));
    await expect.poll(() => given).toEqual(['refused', 'rolled back']);
    expect(byRow).toEqual([ambiguous]);
  });

  it('fails a running job that no worker runs any more', async () => {
    const opened = request({ replyTo: transport.replies.address });
    await admission().open(opened);
    await jobs.markRunning([opened.requestId]);
    const common = { jobs, closer: new JobCloser(jobs), transport, logger, definitions, cipher, tickets };
    const atOnce = { ...common, confirmMs: 0, comebackMs: 0 };
    const asleep = new FailAbandonedSweep({ ...atOnce, resultBacklog: async () => false });
    expect(await asleep.run()).toBe(0);
    const sweep = new FailAbandonedSweep({ ...atOnce, resultBacklog: async () => true });
    await expect.poll(async () => (await sweep.run(), (await row(opened.requestId))?.state)).toBe('failed');
    expect(await row(opened.requestId)).toMatchObject({ error_code: 'DEVICE_LOST', payloads: 0 });
  });

  it('overtakes no result that waits for a retry, whichever replica failed to write it', async () => {
    const [queued, running, overdue] = [request(), request(), request({ deadlineMs: 1 })];
    const all = [queued, running, overdue];
    for (const each of all) {
      await admission().open(each);
      await transport.producer.remove('echo', each.modelId, each.requestId);
    }
    await jobs.markRunning([running.requestId]);
    let isAway = true;
    await processResults([{ close: async () => (isAway ? Promise.reject(new Error('database is away')) : undefined) }]);
    await Promise.all(all.map(({ requestId }) => transport.results.report(result(requestId))));
    // Another replica, just started. What is being retried at this moment waits as well.
    const flow = new ResultBacklog(transport, { sweepIntervalMs: 3_000 }, logger, { slowMs: 0 });
    const resultBacklog = () => flow.flows();
    await expect.poll(resultBacklog).toBe(false);
    const common = {
      jobs,
      closer: new JobCloser(jobs),
      transport,
      logger,
      definitions,
      cipher,
      tickets,
      resultBacklog,
    };
    const sweeps = [
      requeue({ resultBacklog }),
      new FailAbandonedSweep({ ...common, confirmMs: 0, comebackMs: 0 }),
      new ExpireOverdueSweep({ ...common, graceMs: 0, confirmMs: 0 }),
    ];
    for (const sweep of sweeps) expect(await sweep.run(), sweep.name).toBe(0);
    isAway = false;
    for (const { requestId } of all) {
      await expect.poll(() => row(requestId), { timeout: 20_000 }).toMatchObject({ state: 'succeeded', attempt: 1 });
    }
  });

  it('confirms nothing by what it saw before results had to wait or a check failed', async () => {
    const opened = request();
    await admission().open(opened);
    await transport.producer.remove('echo', opened.modelId, opened.requestId);
    let answer: () => Promise<boolean> = async () => true;
    let nowMs = 0;
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    const sweep = requeue({ resultBacklog: () => answer(), confirmMs: 3_000, clock });
    const attempts: unknown[] = [];
    const looks = [
      async () => true,
      async () => false,
      async () => true,
      async () => Promise.reject(new Error('the queue is away')),
      async () => true,
      async () => true,
    ];
    for (const look of looks) {
      answer = look;
      await sweep.run().catch(() => undefined);
      attempts.push((await row(opened.requestId))?.attempt);
      nowMs += 3_000;
    }
    expect(attempts).toEqual([1, 1, 1, 1, 1, 2]);
  });

  it('leaves a non-streamed response to the next worker when no worker is there for it, and not a stream', async () => {
    const whole = request({ replyTo: transport.replies.address });
    const stream = request({ replyTo: transport.replies.address, stream: true });
    for (const each of [whole, stream]) await admission().open(each);
    await jobs.markRunning([whole.requestId, stream.requestId]);
    const common = { jobs, closer: new JobCloser(jobs), transport, logger, definitions, cipher, tickets };
    const sweep = new FailAbandonedSweep({ ...common, resultBacklog: async () => true, confirmMs: 0 });
    await expect.poll(async () => (await sweep.run(), (await row(stream.requestId))?.state)).toBe('failed');
    expect(await row(whole.requestId)).toMatchObject({ state: 'running' });
    await transport.producer.remove('echo', whole.modelId, whole.requestId);
    await expect.poll(async () => (await sweep.run(), (await row(whole.requestId))?.state)).toBe('failed');
  });
});

/** Methods live on the prototype, which a spread does not copy. */
function bound(producer: QueueTransport['producer']): QueueTransport['producer'] {
  return {
    requireRoom: () => producer.requireRoom(),
    enqueue: (...parameters) => producer.enqueue(...parameters),
    enqueueBulk: (...parameters) => producer.enqueueBulk(...parameters),
    remove: (...parameters) => producer.remove(...parameters),
    withdraw: (...parameters) => producer.withdraw(...parameters),
    holds: (...parameters) => producer.holds(...parameters),
    counts: (...parameters) => producer.counts(...parameters),
    listWaiting: (...parameters) => producer.listWaiting(...parameters),
    countAhead: (...parameters) => producer.countAhead(...parameters),
  };
}
