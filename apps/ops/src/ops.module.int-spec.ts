import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Test, type TestingModule } from '@nestjs/testing';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import { OpsConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { PrismaService } from '#platform/prisma';
import { createTransport, JobResultHandler, type JobResult, QueueTransport } from '#queue';
import { ArtifactStore, createArtifactStore } from '#storage';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { redisAvailable, startRedis } from '#test/redis';
import { OpsModule } from './ops.module.js';

describe('ops', () => {
  let database: TestDatabase;
  let home: string;
  const logger = createLogger('ops', { level: 'silent' });
  const metrics = () => new Metrics('ops', { processMetrics: false });

  beforeEach(async () => {
    database = await createMigratedDatabase();
    home = await mkdtemp(path.join(tmpdir(), 'sluice-ops-'));
  });

  afterEach(async () => {
    await database.drop();
    await rm(home, { recursive: true });
  });

  function build(settings: Partial<OpsConfig>) {
    const keys = { secretKey: '5c'.repeat(32), previousSecretKeys: [] };
    const base = { databaseUrl: database.url, homePath: home, namespace: 'ops', ...keys };
    const config = Object.assign(new OpsConfig(), { ...base, lostAfterMs: 100, ledgerVerifyMs: 0 }, settings);
    return Test.createTestingModule({ imports: [OpsModule.forRoot(config, logger)] })
      .overrideProvider(Metrics)
      .useValue(metrics());
  }

  it('times out sweep queries without a response, but not the ledger verification', async () => {
    // Queries for job rows now block, as on a server that vanished.
    const replica = new pg.Client({ connectionString: database.url });
    await replica.connect();
    await replica.query('BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE');
    const app = await build({ sweepIntervalMs: 50, ledgerVerifyMs: 900_000 })
      .overrideProvider(PrismaService)
      .useValue(new PrismaService({ url: database.url, applicationName: 'sluice-ops', queryTimeoutMs: 200 }))
      .compile();
    const shown = app.get(Metrics);
    try {
      await app.init();
      const failed = /^sluice_sweep_failures_total\{sweep="expire-overdue"[^}]*\} [1-9]/m;
      await expect.poll(() => shown.render(), { timeout: 20_000 }).toMatch(failed);
      await replica.query('COMMIT');
      const proved = /^sluice_ledger_last_verified_timestamp_seconds\{[^}]*\} 1\d{9}/m;
      await expect.poll(() => shown.render(), { timeout: 20_000 }).toMatch(proved);
    } finally {
      await replica.end();
      await app.close();
    }
  });

  it('keeps sweeping for lost jobs while the artifact store hangs', async () => {
    const transport = await createTransport({
      url: database.url,
      namespace: 'ops',
      clientName: 'ops',
      warn: () => undefined,
    });
    let [answer, asked, looks]: [() => void, number, number] = [() => undefined, 0, 0];
    const silence = new Promise<void>((resolve) => (answer = resolve));
    const silent = Object.create(createArtifactStore({ home }), {
      sweep: { value: () => ((asked += 1), silence.then(() => 0)) },
    }) as ArtifactStore;
    const results = Object.create(transport.results, {
      pending: { value: () => ((looks += 1), transport.results.pending()) },
    }) as QueueTransport['results'];
    const app = await build({ sweepIntervalMs: 20 })
      .overrideProvider(QueueTransport)
      .useValue(Object.create(transport, { results: { value: results } }))
      .overrideProvider(ArtifactStore)
      .useValue(silent)
      .compile();
    try {
      await app.init();
      await expect.poll(() => asked, { timeout: 20_000 }).toBe(1);
      const before = looks;
      await expect.poll(() => looks, { timeout: 20_000 }).toBeGreaterThan(before + 2);
      expect(await app.get(Metrics).render()).toMatch(/^sluice_job_results_oldest_age_seconds\{[^}]*\} 0$/m);
    } finally {
      answer();
      await app.close();
    }
  });

  describe.each([
    ['postgres', () => Promise.resolve({ url: database.url, close: () => Promise.resolve() })],
    ...(redisAvailable ? [['redis', () => startRedis()] as const] : []),
  ] as const)('over %s', (_kind, openStore) => {
    const result = (requestId: string): JobResult => ({
      requestId,
      attempt: 1,
      modality: 'chat',
      modelId: 'm',
      retries: 0,
      status: 'succeeded',
      error: null,
      usage: noTokens,
      executionMs: 1,
      finishedAtMs: 0,
    });

    it('handles each job result, and again only those that were rejected', async () => {
      const store = await openStore();
      const seen: string[] = [];
      const handler: JobResultHandler = {
        process: async ({ requestId }) => {
          seen.push(requestId);
          if (requestId === 'r7' && seen.filter((id) => id === 'r7').length < 3) throw new Error('database is away');
        },
      };
      const app = await build({ sweepIntervalMs: 60_000, explicitQueueUrl: store.url })
        .overrideProvider(JobResultHandler)
        .useValue(handler)
        .compile();
      const worker = await createTransport({
        url: store.url,
        namespace: 'ops',
        clientName: 'worker',
        warn: () => undefined,
      });
      try {
        const ids = Array.from({ length: 30 }, (_value, index) => `r${index}`);
        await Promise.all(ids.map((id) => worker.results.report(result(id))));
        await app.init();
        await expect.poll(() => seen.length).toBe(ids.length + 2);
        expect(new Set(seen)).toEqual(new Set(ids));
        await expect.poll(async () => (await worker.results.pending()).underWay).toEqual([]);
      } finally {
        await app.close();
        await worker.close();
        await store.close();
      }
    });

    it('ends the batch under way before it closes the queue', async () => {
      const store = await openStore();
      let [taken, ended, release]: [boolean, boolean, () => void] = [false, false, () => undefined];
      const held = new Promise<void>((resolve) => (release = resolve));
      const handler: JobResultHandler = {
        process: async () => {
          taken = true;
          await held;
          ended = true;
        },
      };
      const app: TestingModule = await build({ sweepIntervalMs: 60_000, explicitQueueUrl: store.url })
        .overrideProvider(JobResultHandler)
        .useValue(handler)
        .compile();
      const worker = await createTransport({
        url: store.url,
        namespace: 'ops',
        clientName: 'worker',
        warn: () => undefined,
      });
      try {
        await app.init();
        await worker.results.report(result('r1'));
        await expect.poll(() => taken).toBe(true);
        const closing = app.close();
        release();
        await closing;
        expect(ended).toBe(true);
        const { postponed, underWay } = await worker.results.pending();
        expect([...postponed, ...underWay]).toEqual([]);
      } finally {
        await worker.close();
        await store.close();
      }
    });
  });
});
