import { createHash } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import { newRequestId } from '#common';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { testDouble } from '#test/test-double';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { DeleteStoredResponsesSweep } from './delete-stored-responses.sweep.js';
import { IdempotencyRepository, type KeyedRequest } from './idempotency.repository.js';
import { type IdempotencyTiming, IdempotencyService, type KeyOpening } from './idempotency.service.js';
import type { KeyClaim } from './key-claim.js';
import type { StoredResponse } from './stored-response.js';

const logger = createLogger('test', { level: 'silent' });
const secretKey = '7e'.repeat(32);
const answer: StoredResponse = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"text":"something only the caller may read"}'),
};

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let repository: IdempotencyRepository;
let jobs: JobsRepository;
let caller: Caller;
let charges: Map<string, bigint>;
let key: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 8 });
  client = new pg.Client(database.url);
  await client.connect();
  repository = new IdempotencyRepository(prisma);
  jobs = new JobsRepository(prisma);
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const keys = await accounts.bootstrap();
  caller = await accounts.authenticate(keys?.inferenceKey ?? '');
});

afterAll(async () => {
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});

beforeEach(() => {
  charges = new Map();
  key = `key-${newRequestId('TST')}`;
});

/** A replica. */
function service(timing: IdempotencyTiming = {}): IdempotencyService {
  const chargeOf = (requestId: string) => Promise.resolve(charges.get(requestId) ?? null);
  return new IdempotencyService(repository, { secretKeys: [secretKey] }, testDouble({ chargeOf }), logger, {
    waitMs: 0,
    ...timing,
  });
}

function request(body = 'a body', changes: Partial<KeyedRequest> = {}): KeyedRequest {
  const fingerprint = new Uint8Array(createHash('sha256').update(body).digest());
  return { accountId: caller.accountId, key, fingerprint, requestId: newRequestId('TST'), ...changes };
}

function claimOf(opening: KeyOpening): KeyClaim {
  return 'claim' in opening ? opening.claim : expect.fail('the request is not the first one');
}

function answerOf(opening: KeyOpening): StoredResponse {
  return 'answer' in opening ? opening.answer : expect.fail('the request is the first one');
}

async function admit(
  idempotency: IdempotencyService,
  { requestId }: KeyedRequest,
  replyTo: string | null = 'here',
): Promise<void> {
  const place = { modality: 'echo', modelId: 'm', stream: false, replyTo, deadlineMs: 60_000 };
  const { accountId, apiKeyId } = caller;
  const job = { requestId, accountId, apiKeyId, modality: 'echo', modelId: 'm' };
  await jobs.transaction(async (transaction) => {
    const [refusal] = await idempotency.admit(transaction, [{ job, payload: {}, quote: null }]);
    if (refusal) throw refusal;
    await jobs.insert([{ requestId, caller, ...place, ciphertext: new Uint8Array([1]) }], transaction);
  });
}

/** Admits the job of a request, and commits on demand. */
async function admitSlowly(idempotency: IdempotencyService, { requestId }: KeyedRequest): Promise<() => Promise<void>> {
  const { accountId, apiKeyId } = caller;
  const place = { modality: 'echo', modelId: 'm', stream: false, replyTo: null, deadlineMs: 60_000 };
  const job = { requestId, accountId, apiKeyId, modality: 'echo', modelId: 'm' };
  let commit = (): void => undefined;
  const committing = new Promise<void>((resolve) => (commit = resolve));
  let admitted: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    admitted = jobs.transaction(async (transaction) => {
      expect(await idempotency.admit(transaction, [{ job, payload: {}, quote: null }])).toEqual([null]);
      await jobs.insert([{ requestId, caller, ...place, ciphertext: new Uint8Array([1]) }], transaction);
      resolve();
      await committing;
    });
    admitted.catch(reject);
  });
  return async () => {
    commit();
    await admitted;
  };
}

/** Waits until one session waits for a lock of another. */
async function waitsForLock(): Promise<void> {
  const text = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await client.query(text)).rowCount, { timeout: 20_000 }).toBe(1);
}

async function close(
  { requestId }: KeyedRequest,
  state: 'succeeded' | 'failed' | 'cancelled',
  charge = 0n,
): Promise<void> {
  charges.set(requestId, charge);
  const closing = { requestId, attempt: 1, state, errorCode: null, usage: null, executionMs: 1 };
  const [closed] = await jobs.transaction((transaction) => jobs.close([closing], transaction));
  expect(closed).not.toBeNull();
}

/** The replica of the first request dies: nothing renews its lease, which expires. */
async function die(): Promise<void> {
  await client.query(`UPDATE idempotency_keys SET held_until = now() - interval '1 s' WHERE key = $1`, [key]);
}

const inUse = expect.objectContaining({ code: 'IDEMPOTENCY_KEY_IN_USE', param: 'Idempotency-Key' }) as Error;
const lost = expect.objectContaining({ code: 'IDEMPOTENT_ANSWER_LOST' }) as Error;

describe('an idempotency key', () => {
  it('lets one of fifty requests run, on any replica', async () => {
    const replicas = [service(), service(), service()];
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => (replicas[index % 3] ?? service()).open(request())),
    );
    const first = results.filter(({ status }) => status === 'fulfilled');
    expect(first).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toEqual(inUse);
  });

  it('returns the response of the first to the others, byte by byte, and hides it in the database', async () => {
    await claimOf(await service().open(request())).end('answered', answer);
    expect(answerOf(await service().open(request()))).toEqual(answer);
    const { rows } = await client.query<{ answer: Buffer }>('SELECT answer FROM idempotency_keys WHERE key = $1', [
      key,
    ]);
    expect(rows[0]?.answer.includes('only the caller')).toBe(false);
  });

  it('waits a moment for a request that is about to end', async () => {
    const claim = claimOf(await service().open(request()));
    const second = service({ waitMs: 10_000 }).open(request());
    await claim.end('answered', answer);
    expect(answerOf(await second)).toEqual(answer);
  });

  it('refuses another body, while the first runs and later', async () => {
    const claim = claimOf(await service().open(request()));
    const refused = expect.objectContaining({ code: 'INVALID_REQUEST', param: 'Idempotency-Key' }) as Error;
    await expect(service().open(request('another'))).rejects.toEqual(refused);
    await claim.end('answered', answer);
    await expect(service().open(request('another'))).rejects.toEqual(refused);
  });

  it('belongs to one account', async () => {
    const other = await new AccountsService(new AccountsRepository(prisma)).createAccount('other');
    await claimOf(await service().open(request())).end('answered', answer);
    expect(await service().open(request('a body', { accountId: other.id }))).toHaveProperty('claim');
  });

  it('is free again after an error before admission', async () => {
    await claimOf(await service().open(request())).end('failed', { ...answer, status: 400 });
    const { rows } = await client.query('SELECT FROM idempotency_keys WHERE key = $1', [key]);
    expect(rows).toEqual([]);
    expect(await service().open(request('another'))).toHaveProperty('claim');
  });

  it('is free again at once when a later step refuses its request', async () => {
    const idempotency = service();
    const first = request();
    const claim = claimOf(await idempotency.open(first));
    const { accountId, apiKeyId } = caller;
    const job = { requestId: first.requestId, accountId, apiKeyId, modality: 'echo', modelId: 'm' };
    await jobs.transaction((transaction) => idempotency.admit(transaction, [{ job, payload: {}, quote: null }]));
    await claim.end('failed', { ...answer, status: 402 });
    expect((await client.query('SELECT FROM idempotency_keys WHERE key = $1', [key])).rows).toEqual([]);
    expect(await service().open(request('another'))).toHaveProperty('claim');
  });

  it('is free again after an admitted request that cost nothing, and not after one that was charged', async () => {
    const idempotency = service();
    const [free, paid] = [request(), request()];
    const claim = claimOf(await idempotency.open(free));
    await admit(idempotency, free);
    await claim.end('failed', { ...answer, status: 503 });
    await expect(service().open(request())).rejects.toEqual(inUse);
    await close(free, 'failed');
    const second = claimOf(await idempotency.open(paid));
    await admit(idempotency, paid);
    await second.end('failed', { ...answer, status: 504 });
    await close(paid, 'cancelled', 5n);
    expect(answerOf(await service().open(request())).status).toBe(504);
  });

  it('is deleted after a day, with its response', async () => {
    await claimOf(await service().open(request())).end('answered', answer);
    const other = key;
    key = `${key}-2`;
    await claimOf(await service().open(request())).end('answered', answer);
    await client.query(`UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1`, [key]);
    // No sweep has run yet.
    const claim = claimOf(await service().open(request('another')));
    await claim.end('answered', answer);
    await client.query(`UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1`, [key]);
    const sweep = new DeleteStoredResponsesSweep(repository);
    expect(await sweep.run()).toBe(1);
    expect(await sweep.run()).toBe(0);
    key = other;
    expect(answerOf(await service().open(request()))).toEqual(answer);
  });

  it('reports that a response too large to store is gone', async () => {
    await claimOf(await service().open(request())).end('answered', null);
    await expect(service().open(request())).rejects.toEqual(lost);
  });
});

describe('a replica that dies', () => {
  it('before admission leaves the key to the next request, and cannot admit any more', async () => {
    const dead = service();
    const first = request();
    await dead.open(first);
    await expect(service().open(request())).rejects.toEqual(inUse);
    await die();
    claimOf(await service().open(request()));
    // It was only slow.
    await expect(admit(dead, first)).rejects.toEqual(inUse);
    expect(await jobs.find(first.requestId)).toBeNull();
  });

  it('leaves its key to one of many', async () => {
    await service().open(request());
    await die();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => service().open(request())));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('keeps its key while its job is open; afterwards the charge of the job decides', async () => {
    const dead = service();
    const first = request();
    await dead.open(first);
    await admit(dead, first);
    await die();
    await expect(service().open(request())).rejects.toEqual(inUse);
    await close(first, 'cancelled', 7n);
    await expect(service().open(request())).rejects.toEqual(lost);
    await expect(service().open(request('another'))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('leaves its key to the next request when its job cost nothing', async () => {
    const dead = service();
    const first = request();
    await dead.open(first);
    await admit(dead, first);
    await die();
    await close(first, 'failed');
    expect(await service().open(request())).toHaveProperty('claim');
  });

  it('leaves the response of a job that it had only queued', async () => {
    const dead = service();
    const first = request();
    await dead.open(first);
    await admit(dead, first, null);
    await die();
    const { requestId } = first;
    const remade = answerOf(
      await service().open(request(), ({ queueId, modelId }) => ({ model: modelId, queue_id: queueId })),
    );
    expect(JSON.parse(remade.body.toString())).toEqual({ model: 'm', queue_id: requestId });
    await expect(service().open(request())).rejects.toEqual(lost);
  });

  it('keeps its key when it was not dead, and admits its job at the moment of the check', async () => {
    const slow = service({ reservationMs: 3_600_000 });
    const first = request();
    await slow.open(first);
    const { accountId, apiKeyId } = caller;
    const job = { requestId: first.requestId, accountId, apiKeyId, modality: 'echo', modelId: 'm' };
    // A later step then refused it.
    await jobs.transaction((transaction) => slow.admit(transaction, [{ job, payload: {}, quote: null }]));
    await die();
    const second = request();
    const held = (await repository.find(second)) ?? expect.fail('nobody has the key');
    const commit = await admitSlowly(slow, first);
    const taken = repository.takeOver(second, held, 1_000);
    await waitsForLock();
    await commit();
    expect(await taken).toBe(false);
    await expect(service().open(request(), () => ({}))).resolves.toHaveProperty('answer');
  });

  it('is not taken for dead while it renews its lease', async () => {
    const slow = service({ reservationMs: 1_000 });
    const claim = claimOf(await slow.open(request()));
    for (let round = 0; round < 7; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await expect(service().open(request())).rejects.toEqual(inUse);
    }
    await claim.end('answered', answer);
    expect(answerOf(await service().open(request()))).toEqual(answer);
  });
});

describe('a client that disconnects', () => {
  it('gets the response that was made for it, once it is known to have been charged', async () => {
    const idempotency = service();
    const first = request();
    const claim = claimOf(await idempotency.open(first));
    await admit(idempotency, first);
    await claim.end('cut', answer);
    await expect(service().open(request())).rejects.toEqual(inUse);
    await close(first, 'cancelled', 3n);
    expect(await service().open(request())).toEqual({ answer, isCut: true });
  });

  it('runs again when nothing was charged', async () => {
    const idempotency = service();
    const first = request();
    const claim = claimOf(await idempotency.open(first));
    await admit(idempotency, first);
    await claim.end('cut', null);
    await close(first, 'cancelled', 0n);
    expect(await service().open(request())).toHaveProperty('claim');
  });

  it('before admission frees the key, and nothing is admitted for it afterwards', async () => {
    const idempotency = service();
    const [left, stays] = [request(), request('a body', { key: `${key}-2` })];
    await claimOf(await idempotency.open(left)).end('cut', null);
    claimOf(await idempotency.open(stays));
    const second = request();
    claimOf(await service().open(second));
    const { accountId, apiKeyId } = caller;
    const admissions = [left.requestId, stays.requestId, newRequestId('TST')].map((requestId) => ({
      job: { requestId, accountId, apiKeyId, modality: 'echo', modelId: 'm' },
      payload: {},
      quote: null,
    }));
    const decisions = await jobs.transaction((transaction) => idempotency.admit(transaction, admissions));
    expect(decisions).toEqual([inUse, null, null]);
    await expect(admit(idempotency, left, null)).rejects.toEqual(inUse);
    expect(await jobs.find(left.requestId)).toBeNull();
  });

  it('renews its leases while another of its keys is locked, without waiting', async () => {
    const requests = [request('one', { key: `${key}-1` }), request('two', { key: `${key}-2` })];
    for (const each of requests) expect(await repository.claim(each, 1)).toBe(true);
    const lockingClient = new pg.Client(database.url);
    await lockingClient.connect();
    try {
      await lockingClient.query('BEGIN');
      await lockingClient.query('SELECT FROM idempotency_keys WHERE key = $1 FOR UPDATE', [`${key}-1`]);
      await repository.hold(requests, 60_000);
    } finally {
      await lockingClient.end();
    }
    const text = `SELECT key FROM idempotency_keys WHERE key = ANY ($1) AND held_until > now() + interval '30 s'`;
    const keys = requests.map((each) => each.key);
    expect((await client.query(text, [keys])).rows).toEqual([{ key: `${key}-2` }]);
    await repository.hold(requests, 60_000);
    expect((await client.query(text, [keys])).rows).toHaveLength(2);
  });

  it('does not free the key during admission', async () => {
    const idempotency = service();
    const first = request();
    const claim = claimOf(await idempotency.open(first));
    const commit = await admitSlowly(idempotency, first);
    const ended = claim.end('cut', null);
    await waitsForLock();
    await commit();
    await ended;
    const { rows } = await client.query('SELECT state FROM idempotency_keys WHERE key = $1', [key]);
    expect(rows).toEqual([{ state: 'cut' }]);
    const { requestId } = first;
    const again = await service().open(request(), ({ queueId }) => ({ queue_id: queueId }));
    expect(JSON.parse(answerOf(again).body.toString())).toEqual({ queue_id: requestId });
  });
});
