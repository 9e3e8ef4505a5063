import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import { newRequestId, noTokens, PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createTransport, type QueueTransport } from '#queue';
import { echoJob } from '#test/echo-job';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { JobCloser } from '../lifecycle/job-closer.js';
import type { ClosingStep } from '../lifecycle/job-states.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { ExpireOverdueSweep, RequeueLostSweep } from '../recovery/index.js';
import { AdmissionService } from './admission.service.js';
import type { OpenRequest } from './open-request.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { PayloadCipher } from './payload-cipher.js';
import type { StoredRequest } from './stored-request.js';

const logger = createLogger('test', { level: 'silent' });
const cipher = new PayloadCipher('5c'.repeat(32));
const tickets = new ResultTickets('5c'.repeat(32));

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let jobs: JobsRepository;
let caller: Caller;
let transport: QueueTransport;
let closed: string[];

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  client = new pg.Client(database.url);
  await client.connect();
  jobs = new JobsRepository(prisma);
  const accounts = new AccountsService(new AccountsRepository(prisma));
  caller = await accounts.authenticate((await accounts.bootstrap())?.inferenceKey ?? '');
  transport = await createTransport({ url: database.url, namespace: 'preparation_test', clientName: 'ops' });
  closed = [];
});

afterAll(async () => {
  await transport.close();
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});

const closing: ClosingStep = {
  close: async (_transaction, rows) => void closed.push(...rows.map(({ requestId }) => requestId)),
};

function open(complete: () => Promise<object>, { disconnected = new AbortController().signal, maxMs = 1_000 } = {}) {
  const request: OpenRequest = {
    requestId: newRequestId('TST'),
    caller,
    definition: echoJob,
    modelId: `model-${Math.random().toString(36).slice(2)}`,
    payload: { text: 'before' },
    bounds: noTokens,
    replyTo: null,
    stream: false,
    preparation: { maxMs, disconnected, complete },
  };
  const admission = AdmissionService.of({
    jobs,
    closer: new JobCloser(jobs, [closing]),
    cipher,
    tickets,
    transport,
    logger,
    queueLimit: 1_000,
  });
  return { request, opened: admission.open(request) };
}

async function rowOf({ requestId }: OpenRequest) {
  const { rows } = await client.query<{
    state: string;
    attempt: number;
    error_code: string | null;
    deadline_s: number;
    ciphertext: Buffer | null;
  }>(
    `SELECT state::text, attempt, error_code, EXTRACT(EPOCH FROM deadline_at - now())::float8 AS deadline_s, ciphertext
       FROM jobs LEFT JOIN job_payloads USING (request_id) WHERE request_id = $1`,
    [requestId],
  );
  const [row] = rows;
  const stored = row?.ciphertext ? (cipher.decrypt(requestId, row.ciphertext) as StoredRequest) : null;
  return row && { ...row, payload: stored && stored.payload };
}

function sweeps() {
  const common = { jobs, closer: new JobCloser(jobs, [closing]), transport, logger, resultBacklog: async () => true };
  const definitions = new Map([['echo', echoJob]]);
  const requeue = {
    ...common,
    producer: transport.producer,
    cipher,
    tickets,
    definitions,
    lostAfterMs: 0,
    confirmMs: 0,
  };
  return {
    requeue: new RequeueLostSweep(requeue),
    expire: new ExpireOverdueSweep({ ...common, graceMs: 0, confirmMs: 0 }),
  };
}

it('admits a job first, and enqueues what its preparation returns', async () => {
  const seen: unknown[] = [];
  const { request, opened } = open(async () => {
    seen.push(await rowOf(request));
    seen.push(await transport.producer.holds('echo', request.modelId, request.requestId));
    const { requeue, expire } = sweeps();
    seen.push(await requeue.run(), await expire.run());
    return { text: 'after' };
  });
  const job = await opened;
  expect(seen).toMatchObject([{ state: 'queued', payload: { text: 'before' } }, false, 0, 0]);
  expect(await transport.producer.holds('echo', request.modelId, request.requestId)).toBe(true);
  const row = await rowOf(request);
  expect(row).toMatchObject({ state: 'queued', attempt: 1, payload: { text: 'after' } });
  expect(row?.deadline_s).toBeGreaterThan(50);
  expect(job.requestId).toBe(request.requestId);
});

it('closes a job whose preparation fails, and says why', async () => {
  const { request, opened } = open(() => Promise.reject(new PlatformError('INFERENCE_FAILED', 'It went wrong.')));
  await expect(opened).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
  expect(await rowOf(request)).toMatchObject({ state: 'failed', error_code: 'SERVICE_UNAVAILABLE', payload: null });
  expect(closed.filter((id) => id === request.requestId)).toHaveLength(1);
});

it('cancels a job whose client leaves while it is prepared', async () => {
  const client = new AbortController();
  const complete = async () => {
    client.abort();
    throw new Error('The client left.');
  };
  const { request, opened } = open(complete, { disconnected: client.signal });
  await expect(opened).rejects.toThrow('The client left.');
  expect(await rowOf(request)).toMatchObject({ state: 'cancelled', error_code: 'JOB_CANCELLED', payload: null });
});

it('releases a job once whose process died while it prepared it, and never runs it', async () => {
  const { request } = open(() => new Promise(() => undefined));
  await expect.poll(() => rowOf(request)).toMatchObject({ state: 'queued' });
  await client.query(
    `UPDATE jobs SET deadline_at = now() - interval '1 s', enqueued_at = now() - interval '1 s' WHERE request_id = $1`,
    [request.requestId],
  );
  const { requeue, expire } = sweeps();
  expect(await requeue.run()).toBe(0);
  await expect.poll(async () => (await expire.run(), (await rowOf(request))?.state)).toBe('expired');
  expect(await transport.producer.holds('echo', request.modelId, request.requestId)).toBe(false);
  expect(closed.filter((id) => id === request.requestId)).toHaveLength(1);
});

it('enqueues nothing that was closed while it was prepared', async () => {
  let finish = (_payload: object): void => undefined;
  const { request, opened } = open(() => new Promise((resolve) => (finish = resolve)));
  await expect.poll(() => rowOf(request)).toMatchObject({ state: 'queued' });
  const end = { state: 'cancelled', errorCode: 'JOB_CANCELLED', usage: null, executionMs: 0 } as const;
  await new JobCloser(jobs, [closing]).close({ requestId: request.requestId, attempt: 1, ...end });
  finish({ text: 'after' });
  await expect(opened).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(await transport.producer.holds('echo', request.modelId, request.requestId)).toBe(false);
  expect(await rowOf(request)).toMatchObject({ state: 'cancelled' });
});
