import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { insertCustomer, type RowCustomer } from '#test/finished-requests';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { rowsRead } from '#test/rows-read';
import { JobActivityRepository } from './job-activity.repository.js';
import {
  positionOf,
  type RequestFilter,
  RequestListRepository,
  type RequestPosition,
} from './request-list.repository.js';

const queueId = '00000000-0000-4000-8000-000000000007';

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let customer: RowCustomer;
let other: RowCustomer;
let requests: RequestListRepository;
let everything: RequestFilter;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  client = new pg.Client(database.url);
  await client.connect();
  [customer, other] = [await insertCustomer(client), await insertCustomer(client)];
  requests = new RequestListRepository(prisma);
  everything = {
    accountId: customer.account,
    apiKeyId: null,
    modelId: null,
    states: null,
    id: null,
    fromMs: null,
    toMs: null,
  };
  // Several end in the same millisecond, as they do when one group is closed.
  await client.query(
    `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, attempt, created_at, enqueued_at,
                       deadline_at, started_at, finished_at, error_code, completion_tokens, worker, first_token_ms)
     SELECT 'r' || lpad(n::text, 2, '0'), $1, $2, 'chat', CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END,
            CASE WHEN n > 20 THEN 'queued' WHEN n % 5 = 0 THEN 'failed' ELSE 'succeeded' END::job_state, 1, at, at,
            now() + interval '1 hour', NULL, CASE WHEN n > 20 THEN NULL ELSE at + interval '1 s' END,
            CASE WHEN n % 5 = 0 AND n <= 20 THEN 'MODEL_OFFLINE' END, 60, 'default/worker-' || n, n
       FROM generate_series(1, 25) AS n, LATERAL (SELECT now() - make_interval(mins => 30 - n / 3) AS at) times`,
    [customer.account, customer.key],
  );
  await client.query(
    `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, deadline_at, finished_at)
     VALUES ('theirs', $1, $2, 'image', 'even', 'succeeded', now(), now())`,
    [other.account, other.key],
  );
  await client.query(`INSERT INTO media_jobs (request_id, queue_id, model_id) VALUES ('r07', $1, 'odd')`, [queueId]);
});

afterAll(async () => {
  await client.end();
  await prisma.$disconnect();
  await database.drop();
});

/** Returns the ids of all pages. */
async function readAll(filter: RequestFilter, size: number): Promise<string[]> {
  const ids: string[] = [];
  let after: RequestPosition | null = null;
  for (;;) {
    const rows = await requests.page(filter, after, size);
    ids.push(...rows.map(({ requestId }) => requestId));
    const last = rows.at(-1);
    if (last === undefined) return ids;
    after = positionOf(last);
  }
}

describe('the list of requests', () => {
  it.each([1, 3, 7, 100])('has every request once, open ones first, in pages of %i', async (size) => {
    const { rows } = await client.query<{ request_id: string }>(
      `SELECT request_id FROM jobs WHERE account_id = $1
        ORDER BY finished_at IS NULL DESC, COALESCE(finished_at, created_at) DESC, request_id DESC`,
      [customer.account],
    );
    expect(rows).toHaveLength(25);
    expect(await readAll(everything, size)).toEqual(rows.map(({ request_id: id }) => id));
  });

  it('has those that match the filter', async () => {
    expect(await readAll({ ...everything, states: ['queued'] }, 3)).toHaveLength(5);
    expect(await readAll({ ...everything, modelId: 'even' }, 3)).toHaveLength(12);
    expect(await readAll({ ...everything, apiKeyId: other.key }, 3)).toEqual([]);
    expect(await readAll({ ...everything, id: 'r03' }, 3)).toEqual(['r03']);
    expect(await readAll({ ...everything, id: queueId }, 3)).toEqual(['r07']);
    expect(await readAll({ ...everything, id: 'theirs' }, 3)).toEqual([]);
    expect(await readAll({ ...everything, accountId: null }, 10)).toHaveLength(26);
    expect(await readAll({ ...everything, toMs: 0 }, 10)).toEqual([]);
    expect(
      await readAll({ ...everything, fromMs: Date.now() - 3_600_000, toMs: Date.now() + 60_000 }, 10),
    ).toHaveLength(25);
  });

  it('reads little more than the page of a small account among many requests of others', async () => {
    await client.query(
      `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, created_at, deadline_at, finished_at)
       SELECT 'busy-' || n, $1, $2, 'chat', 'm', 'succeeded', now(), now(), now() FROM generate_series(1, 20000) n`,
      [other.account, other.key],
    );
    await client.query('ANALYZE jobs');
    const counts = await rowsRead(prisma, (explained) =>
      new RequestListRepository(explained).page(everything, null, 10),
    );
    expect(counts['jobs']).toBeLessThan(100);
    await client.query(`DELETE FROM jobs WHERE request_id LIKE 'busy-%'`);
  });

  it('says what a request was and cost', async () => {
    const [row] = await requests.page({ ...everything, id: 'r05' }, null, 1);
    expect(row).toMatchObject({
      state: 'failed',
      errorCode: 'MODEL_OFFLINE',
      chargedNano: 0n,
      keyLast6: 'abcdef',
      attempt: 1,
      worker: 'default/worker-5',
      firstTokenMs: 5,
    });
    const [open] = await requests.page({ ...everything, id: 'r25' }, null, 1);
    expect(open).toMatchObject({ state: 'queued', finishedAt: null, chargedNano: null });
  });
});

describe('the activity of the last hour', () => {
  it('counts requests by the minute, errors apart, and open jobs by modality', async () => {
    const activity = await new JobActivityRepository(prisma).lastHour({ accountId: customer.account, apiKeyId: null });
    const sum = (read: (minute: (typeof activity.minutes)[number]) => number) =>
      activity.minutes.reduce((total, minute) => total + read(minute), 0);
    expect([sum(({ requests: count }) => count), sum(({ errors }) => errors)]).toEqual([20, 4]);
    expect(activity.open).toEqual([
      { modality: 'chat', waiting: 5, running: 0, oldestMs: expect.any(Number) as number },
    ]);
    expect(activity.recentTokens).toBe(0);
    const all = await new JobActivityRepository(prisma).lastHour({ accountId: null, apiKeyId: null });
    expect(all.minutes.reduce((total, minute) => total + minute.requests, 0)).toBe(21);
  });
});
