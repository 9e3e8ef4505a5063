import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpsConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { createTransport, type QueueTransport } from '#queue';
import { openLimitStore } from '#rate-limit';
import { createArtifactStore } from '#storage';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { composeOps } from './compose-ops.js';
import { openDatabases } from './open-databases.js';

describe('ops', () => {
  let database: TestDatabase;
  let transport: QueueTransport;
  let home: string;

  beforeEach(async () => {
    database = await createMigratedDatabase();
    transport = await createTransport({
      url: database.url,
      namespace: 'ops',
      clientName: 'ops',
      warn: () => undefined,
    });
    home = await mkdtemp(path.join(tmpdir(), 'sluice-ops-'));
  });

  afterEach(async () => {
    await transport.close();
    await database.drop();
    await rm(home, { recursive: true });
  });

  it('gives up a query of its sweeps that gets no answer, and lets the proof of the books take its time', async () => {
    const timing = { sweepIntervalMs: 50, lostAfterMs: 100, ledgerVerifyMs: 900_000 };
    const config = Object.assign(new OpsConfig(), { ...timing, secretKey: '5c'.repeat(32) });
    const metrics = new Metrics('ops', { processMetrics: false });
    const logger = createLogger('ops', { level: 'silent' });
    const { prisma, proofs } = openDatabases({ url: database.url, queryTimeoutMs: 200 });
    const artifacts = createArtifactStore({ home });
    const limitStore = await openLimitStore({ redisUrl: null, prisma, namespace: 'ops', warn: () => undefined });
    const { sweeps, ledgerState } = composeOps({
      config,
      prisma,
      proofs,
      transport,
      logger,
      metrics,
      artifacts,
      limitStore,
    });
    // Whoever asks for rows of jobs waits now, as for a server that has vanished.
    const replica = new pg.Client({ connectionString: database.url });
    await replica.connect();
    await replica.query('BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE');
    try {
      ledgerState.start();
      sweeps.start();
      const failed = /^sluice_sweep_failures_total\{sweep="expire-overdue"[^}]*\} [1-9]/m;
      await expect.poll(() => metrics.render(), { timeout: 20_000 }).toMatch(failed);
      await replica.query('COMMIT');
      const proved = /^sluice_ledger_last_verified_timestamp_seconds\{[^}]*\} 1\d{9}/m;
      await expect.poll(() => metrics.render(), { timeout: 20_000 }).toMatch(proved);
    } finally {
      await replica.end();
      await sweeps.close();
      await ledgerState.close();
      await artifacts.close();
      await limitStore.close();
      await Promise.all([prisma.$disconnect(), proofs.$disconnect()]);
    }
  });

  it('looks for what is lost again and again while the store of artifacts says nothing', async () => {
    const timing = { sweepIntervalMs: 20, lostAfterMs: 100, ledgerVerifyMs: 0 };
    const config = Object.assign(new OpsConfig(), { ...timing, secretKey: '5c'.repeat(32) });
    const metrics = new Metrics('ops', { processMetrics: false });
    const logger = createLogger('ops', { level: 'silent' });
    const { prisma, proofs } = openDatabases({ url: database.url });
    const artifacts = createArtifactStore({ home });
    let [answer, asked, looks]: [() => void, number, number] = [() => undefined, 0, 0];
    const silence = new Promise<void>((resolve) => (answer = resolve));
    const silent = Object.create(artifacts, {
      sweep: { value: () => ((asked += 1), silence.then(() => 0)) },
    }) as typeof artifacts;
    const results: Pick<QueueTransport['results'], 'pending' | 'process'> = {
      pending: () => ((looks += 1), transport.results.pending()),
      process: (handler) => transport.results.process(handler),
    };
    const over = Object.create(transport, { results: { value: results } }) as QueueTransport;
    const limitStore = await openLimitStore({ redisUrl: null, prisma, namespace: 'ops', warn: () => undefined });
    const common = { config, prisma, proofs, transport: over, logger, metrics, artifacts: silent, limitStore };
    const { sweeps, cleaning } = composeOps(common);
    try {
      sweeps.start();
      cleaning.start();
      await expect.poll(() => asked, { timeout: 20_000 }).toBe(1);
      const before = looks;
      await expect.poll(() => looks, { timeout: 20_000 }).toBeGreaterThan(before + 2);
      expect(await metrics.render()).toMatch(/^sluice_job_results_oldest_age_seconds\{[^}]*\} 0$/m);
    } finally {
      answer();
      await Promise.all([sweeps.close(), cleaning.close()]);
      await artifacts.close();
      await limitStore.close();
      await Promise.all([prisma.$disconnect(), proofs.$disconnect()]);
    }
  });
});
