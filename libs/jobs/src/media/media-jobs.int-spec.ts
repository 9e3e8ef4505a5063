import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IsString } from 'class-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import { newRequestId, PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createTransport, defineJob, type JobReport, type QueueTransport, type RunningJob } from '#queue';
import { type ArtifactStore, createArtifactStore } from '#storage';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { AdmissionService } from '../admission/admission.service.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { JobResultProcessor } from '../lifecycle/job-result.processor.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { FailAbandonedSweep } from '../recovery/index.js';
import { MediaClosing } from './media-closing.js';
import { MediaJobsRepository } from './media-jobs.repository.js';
import { ProgressRecorder } from './progress-recorder.js';

class VideoPayload {
  @IsString() prompt!: string;
}

class VideoResult {}

const longVideoJob = defineJob({
  modality: 'video',
  payload: VideoPayload,
  result: VideoResult,
  policy: { attempts: 2, lockMs: 5_000, deadlineMs: 60_000, stalledMax: 1, concurrency: 4 },
});
const logger = createLogger('test', { level: 'silent' });
const secretKey = '5c'.repeat(32);
const tickets = new ResultTickets(secretKey);
const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0, units: { seconds: 5 } };

describe('async jobs', () => {
  let database: TestDatabase;
  let home: string;
  let prisma: PrismaService;
  let transport: QueueTransport;
  let artifacts: ArtifactStore;
  let jobs: JobsRepository;
  let videos: MediaJobsRepository;
  let caller: Caller;
  let results: { close(): Promise<void> };
  let recorder: ProgressRecorder;
  let closer: JobCloser;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    home = await mkdtemp(join(tmpdir(), 'sluice-videos-'));
    prisma = new PrismaService({ url: database.url });
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const keys = await accounts.bootstrap();
    caller = await accounts.authenticate(keys?.inferenceKey ?? '');
    transport = await createTransport({ url: database.url, namespace: 'videos', clientName: 'ops' });
    artifacts = createArtifactStore({ home });
    jobs = new JobsRepository(prisma);
    videos = new MediaJobsRepository(prisma);
    const ending = new MediaClosing(
      videos,
      artifacts,
      { definitions: new Map([['video', { ...longVideoJob, isAsync: true }]]) },
      logger,
    );
    closer = new JobCloser(jobs, [ending], [ending.afterwards]);
    const processor = new JobResultProcessor({ closer, tickets, logger });
    results = await transport.results.process((result) => processor.process(result));
    recorder = new ProgressRecorder(videos, transport, logger, 10);
    recorder.start();
  });

  afterAll(async () => {
    await recorder.close();
    await results.close();
    await transport.close();
    await prisma.$disconnect();
    await database.drop();
    await rm(home, { recursive: true, force: true });
  });

  async function admit(modelId: string) {
    const admission = AdmissionService.of({
      jobs,
      closer,
      cipher: new PayloadCipher(secretKey),
      tickets,
      transport,
      logger,
      queueLimit: 100,
    });
    const { id: input } = await artifacts.put(Buffer.from('first frame'), { kind: 'input', contentType: 'image/png' });
    const queueId = randomUUID();
    const requestId = newRequestId('TST');
    await admission.open({
      requestId,
      caller,
      definition: longVideoJob,
      modelId,
      payload: { prompt: 'a boat' },
      bounds: usage,
      replyTo: null,
      stream: false,
      media: { queueId, delivery: 'inline', inputArtifacts: [input] },
    });
    return { requestId, queueId, input, find: () => find(queueId, modelId) };
  }

  const find = (queueId: string, modelId: string) => videos.find({ queueId, accountId: caller.accountId, modelId });

  async function until(condition: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (!(await condition())) {
      if (performance.now() > deadline) throw new Error('the awaited state did not come');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const consume = (modelId: string, handler: (job: RunningJob<VideoPayload>) => Promise<JobReport>) =>
    transport.consume({ definition: longVideoJob, modelId, handler });

  it('run, report progress, and end with their result stored and their inputs deleted', async () => {
    const { input, find } = await admit('video-one');
    expect(await find()).toMatchObject({ state: 'queued', progressPercent: 0, runningMs: 0, resultArtifacts: [] });
    let finish: () => void = () => undefined;
    const release = new Promise<void>((resolve) => (finish = resolve));
    const consumer = await consume('video-one', async ({ progress }) => {
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      progress(42.9);
      await release;
      const result = await artifacts.put(Buffer.from('video'), { kind: 'result', contentType: 'video/mp4' });
      return { usage, cancelled: false, executionMs: 1_234, artifacts: [result.id] };
    });
    await until(async () => (await find())?.state === 'running');
    await until(async () => (await find())?.progressPercent === 42);
    expect(await find()).toMatchObject({ error: null, endedForMs: null });
    finish();
    await until(async () => (await find())?.state === 'succeeded');
    const done = await find();
    expect(done).toMatchObject({ progressPercent: 100, error: null, isDeleted: false, endedForMs: expect.any(Number) });
    expect((await artifacts.read(done?.resultArtifacts[0] ?? '', 100)).bytes.toString()).toBe('video');
    await until(async () => (await artifacts.find(input)) === null);
    await consumer.close(0);
  });

  it('keep the code and message of their failure for later retrieval', async () => {
    const { find, input } = await admit('video-two');
    const consumer = await consume('video-two', () =>
      Promise.reject(new PlatformError('CONTENT_POLICY_VIOLATION', 'This is not shown here.')),
    );
    await until(async () => (await find())?.state === 'failed');
    expect(await find()).toMatchObject({
      error: { code: 'CONTENT_POLICY_VIOLATION', message: 'This is not shown here.' },
      resultArtifacts: [],
    });
    await until(async () => (await artifacts.find(input)) === null);
    await consumer.close(0);
  });

  it('are invisible to other accounts and for other models', async () => {
    const { queueId } = await admit('video-three');
    expect(await find(queueId, 'video-three')).not.toBeNull();
    expect(await find(queueId, 'video-two')).toBeNull();
    expect(await videos.find({ queueId, accountId: randomUUID(), modelId: 'video-three' })).toBeNull();
    expect(await find('1; DROP TABLE jobs', 'video-three')).toBeNull();
  });

  it('are deleted by one of any number of calls', async () => {
    const { requestId, find } = await admit('video-four');
    const calls = await Promise.all(Array.from({ length: 5 }, () => videos.markDeleted(requestId)));
    expect(calls.filter(Boolean)).toHaveLength(1);
    expect(await find()).toMatchObject({ isDeleted: true });
  });

  it('report the 80th percentile of the last successful runs of their model', async () => {
    expect(await videos.expectedDurationMs('video-five')).toBeNull();
    for (const executionMs of [100, 500, 200, 400, 300]) {
      const { requestId } = await admit('video-five');
      await closer.close({ requestId, attempt: 1, state: 'succeeded', errorCode: null, usage, executionMs });
    }
    const { requestId } = await admit('video-five');
    await closer.close({
      requestId,
      attempt: 1,
      state: 'failed',
      errorCode: 'INFERENCE_FAILED',
      usage,
      executionMs: 9e6,
    });
    expect(await videos.expectedDurationMs('video-five')).toBe(400);
  });

  it('never decrease in progress, nor advance by a report of an older attempt or another model', async () => {
    const { requestId, find } = await admit('video-six');
    const note = (percent: number, attempt = 1, modelId = 'video-six') =>
      videos.noteProgress([{ requestId, modelId, attempt, percent }]);
    await note(30);
    await note(10);
    await note(90, 2);
    await note(80, 1, 'video-five');
    expect(await find()).toMatchObject({ state: 'running', progressPercent: 30 });
  });

  it('run again when the queue has lost them while they ran, and fail after five attempts', async () => {
    const modelId = 'video-seven';
    const { requestId, find } = await admit(modelId);
    const start = (attempt: number) => videos.noteProgress([{ requestId, modelId, attempt, percent: 1 }]);
    await start(1);
    const sweep = new FailAbandonedSweep({
      jobs,
      closer,
      transport,
      logger,
      cipher: new PayloadCipher(secretKey),
      tickets,
      definitions: new Map([['video', longVideoJob]]),
      resultBacklog: async () => true,
      confirmMs: 0,
    });
    const sweepTwice = async () => {
      await sweep.run();
      await sweep.run();
    };
    await sweepTwice();
    expect(await find()).toMatchObject({ state: 'running' });
    for (let attempt = 2; attempt <= 5; attempt += 1) {
      await transport.producer.remove('video', modelId, requestId);
      await sweepTwice();
      expect(await find()).toMatchObject({ state: 'queued', runningMs: 0 });
      expect(await jobs.find(requestId)).toMatchObject({ attempt, state: 'queued' });
      expect(await transport.producer.holds('video', modelId, requestId)).toBe(true);
      // What the lost attempt still reports changes nothing.
      const late = { requestId, attempt: attempt - 1, state: 'succeeded', errorCode: null, usage: null } as const;
      expect(await closer.close({ ...late, executionMs: 1 })).toBeNull();
      await start(attempt);
    }
    await transport.producer.remove('video', modelId, requestId);
    await sweepTwice();
    expect(await find()).toMatchObject({ state: 'failed', error: { code: 'DEVICE_LOST' } });
  });
});
