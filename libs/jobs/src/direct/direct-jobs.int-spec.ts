import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import {
  createLedger,
  JobQuote,
  KeyUsageRepository,
  LedgerRepository,
  ReservationStep,
  SettlementStep,
} from '#billing';
import { nanosPerUsd, newRequestId, noTokens, PlatformError } from '#common';
import { meterJob } from '#modalities';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createTransport, type QueueTransport } from '#queue';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { testDouble } from '#test/test-double';
import { AdmissionService } from '../admission/admission.service.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { ExpireOverdueSweep, RequeueLostSweep } from '../recovery/index.js';
import { DirectJobs, type DirectReservationDependencies } from './direct-jobs.js';

/* Work of an api replica, on the real ledger. */

const logger = createLogger('test', { level: 'silent' });
const cent = 10_000_000n;

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let transport: QueueTransport;
let jobs: JobsRepository;
let closer: JobCloser;
let caller: Caller;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  client = new pg.Client(database.url);
  await client.connect();
  const accounts = new AccountsService(new AccountsRepository(prisma));
  caller = await accounts.authenticate((await accounts.bootstrap())?.inferenceKey ?? '');
  await createLedger(prisma).credit('grant', {
    accountId: caller.accountId,
    currency: 'USD',
    amountNano: nanosPerUsd / 10n,
  });
  transport = await createTransport({ url: database.url, namespace: 'direct_test', clientName: 'api' });
  jobs = new JobsRepository(prisma);
  closer = new JobCloser(jobs, [new SettlementStep(new LedgerRepository(prisma), meterJob)]);
});
afterEach(async () => {
  await expectInvariant({ databaseUrl: database.url });
});
afterAll(async () => {
  await transport.close();
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});

const direct = (jobCloser: DirectReservationDependencies['closer'] = closer): DirectJobs => {
  const steps = [new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma))];
  const cipher = new PayloadCipher('5c'.repeat(32));
  const tickets = new ResultTickets('5c'.repeat(32));
  const admission = AdmissionService.of({ jobs, closer, cipher, tickets, transport, logger, queueLimit: 10, steps });
  return new DirectJobs(admission, testDouble(jobCloser), logger, 1);
};

const bounds = { ...noTokens, units: { cheap: 1, dear: 1 } };
const price = (usd: number) => ({ usd, diem: usd });
const order = (disconnected = new AbortController().signal, amountNano = 2n * cent) => ({
  requestId: newRequestId('SLC'),
  caller,
  modelId: 'augment-search',
  bounds,
  quote: new JobQuote(
    amountNano,
    {
      id: null,
      modelId: 'augment-search',
      pricing: { per_request: { cheap: price(0.01), dear: price(0.02) } },
    },
    bounds,
  ),
  disconnected,
});
const delivered = async () => ({ result: 'found', units: { cheap: 1 } });

interface Row {
  state: string;
  error_code: string | null;
  hold: string;
  charged_nano: string | null;
}

async function rowOf({ requestId }: { requestId: string }): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(
    `SELECT jobs.state, error_code, holds.state AS hold, charged_nano FROM jobs
       JOIN holds USING (request_id) WHERE request_id = $1`,
    [requestId],
  );
  return rows[0];
}

const charged = { state: 'succeeded', error_code: null, hold: 'settled', charged_nano: String(cent) };
const free = { hold: 'released', charged_nano: '0' };

describe('a direct job', () => {
  it('reserves the dearest price, and is charged for what answered', async () => {
    const asked = order();
    const work = async () => {
      expect(await rowOf(asked)).toMatchObject({ state: 'queued', hold: 'open' });
      return delivered();
    };
    expect(await direct().run(asked, work)).toBe('found');
    expect(await rowOf(asked)).toEqual(charged);
    const { rows } = await client.query('SELECT sku FROM ledger_entries WHERE sku IS NOT NULL');
    expect(rows).toEqual([{ sku: 'augment-search-cheap-request' }]);
  });

  it('does not begin without the money', async () => {
    const asked = order(undefined, nanosPerUsd);
    let began = false;
    const run = direct().run(asked, () => ((began = true), delivered()));
    await expect(run).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    expect([began, await rowOf(asked)]).toEqual([false, undefined]);
  });

  it('costs nothing when the work fails', async () => {
    const asked = order();
    const failure = new PlatformError('INVALID_REQUEST', 'url answered with status 404.', 'url');
    await expect(direct().run(asked, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(await rowOf(asked)).toEqual({ state: 'failed', error_code: 'INVALID_REQUEST', ...free });
  });

  it('costs nothing when the client leaves, even with the result at hand', async () => {
    const connection = new AbortController();
    const asked = order(connection.signal);
    const run = direct().run(asked, () => (connection.abort(new Error('gone')), delivered()));
    await expect(run).rejects.toThrow('gone');
    expect(await rowOf(asked)).toEqual({ state: 'cancelled', error_code: 'JOB_CANCELLED', ...free });
  });

  it('is charged once when the answer to its charge is lost', async () => {
    let attempts = 0;
    const unsteady: DirectReservationDependencies['closer'] = {
      close: async (closing) => {
        attempts += 1;
        const closed = await closer.close(closing);
        if (attempts === 1) throw new Error('the connection is lost');
        return closed;
      },
    };
    const asked = order();
    expect(await direct(unsteady).run(asked, delivered)).toBe('found');
    expect([attempts, await rowOf(asked)]).toEqual([2, charged]);
  });

  it('is not delivered when it cannot be charged, and released when its time is over', async () => {
    const broken = { close: () => Promise.reject(new Error('no database')) };
    const asked = order();
    await expect(direct(broken).run(asked, delivered)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    expect(await rowOf(asked)).toMatchObject({ state: 'queued', hold: 'open' });
    const definitions = new Map();
    const common = { jobs, closer, transport, logger, resultBacklog: async () => true, confirmMs: 0 };
    const cipher = new PayloadCipher('5c'.repeat(32));
    const requeue = new RequeueLostSweep({
      ...common,
      producer: transport.producer,
      cipher,
      tickets: new ResultTickets('5c'.repeat(32)),
      definitions,
      lostAfterMs: 0,
    });
    await requeue.run();
    expect(await requeue.run()).toBe(0);
    await client.query(`UPDATE jobs SET deadline_at = now() - interval '1 s' WHERE request_id = $1`, [asked.requestId]);
    const expire = new ExpireOverdueSweep({ ...common, graceMs: 0 });
    await expire.run();
    await expire.run();
    expect(await rowOf(asked)).toEqual({ state: 'expired', error_code: 'REQUEST_TIMEOUT', ...free });
  });

  it('is not delivered once a sweep has closed it', async () => {
    const asked = order();
    const work = async () => {
      const ending = { requestId: asked.requestId, attempt: 1, usage: null, executionMs: 0 };
      await closer.close({ ...ending, state: 'expired', errorCode: 'REQUEST_TIMEOUT' });
      return delivered();
    };
    await expect(direct().run(asked, work)).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(await rowOf(asked)).toMatchObject(free);
  });
});
