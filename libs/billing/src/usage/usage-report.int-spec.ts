import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { insertCustomer, insertKey } from '#test/finished-requests';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { dateIn, datesBetween, dayBorders, type DayRange } from './local-days.js';
import { UsageAnalyticsRepository } from './usage-analytics.repository.js';
import { UsageAnalyticsService } from './usage-analytics.service.js';
import { UsageFoldRepository } from './usage-fold.repository.js';
import {
  type UsageFigures,
  type UsageGrouping,
  usageGroupings,
  UsageReportRepository,
  type UsageSelection,
} from './usage-report.repository.js';
import { UsageReportService } from './usage-report.service.js';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const zones = [
  'UTC',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'America/New_York',
];
const models = ['small', 'large'];
const modalities = ['chat', 'image'];

/** What a request left in the database, as this test knows it. */
interface Traffic {
  requestId: string;
  endedAtMs: number;
  model: string;
  key: string;
  modality: string;
  isCounted: boolean;
  promptTokens: number;
  completionTokens: number;
  chargedNano: bigint;
}

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let account: string;
let keys: string[];
let traffic: Traffic[];
let reports: UsageReportService;

/** A repeatable sequence of numbers below 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Moments of three days, most of them within a minute of an hour or a quarter, where some zone's day begins. */
function randomMoment(random: () => number, baseMs: number): number {
  const quarterMs = baseMs + Math.floor(random() * 3 * 96) * 15 * minuteMs;
  return quarterMs + Math.floor((random() - 0.5) * 2 * (random() < 0.7 ? 1_000 : 7 * minuteMs));
}

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  client = new pg.Client(database.url);
  await client.connect();
  reports = new UsageReportService(new UsageReportRepository(prisma, new UsageAnalyticsRepository(prisma)));
  const customer = await insertCustomer(client);
  account = customer.account;
  const second = await insertKey(client, account, { last6: 'fedcba', description: 'second' });
  keys = [customer.key, second];
  await client.query(`SELECT ledger_credit('top_up', $1, 'USD', 1000000000000, NULL, '')`, [account]);
  await client.query(`SELECT ledger_credit('grant', $1, 'BUNDLED', 50000, NULL, '')`, [account]);
  const random = randomFrom(7);
  const baseMs = Math.floor(Date.now() / dayMs) * dayMs - 6 * dayMs;
  traffic = [];
  for (let index = 0; index < 240; index += 1) traffic.push(await writeRequest(random, baseMs));
});

afterAll(async () => {
  await expectInvariant({ databaseUrl: database.url });
  await client.end();
  await prisma.$disconnect();
  await database.drop();
});

const pick = <Item>(random: () => number, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)] as Item;

/** A request that succeeded, cost nothing, failed and was refunded, or was cancelled and charged for a part. */
async function writeRequest(random: () => number, baseMs: number): Promise<Traffic> {
  const requestId = randomUUID();
  const [model, key, modality] = [pick(random, models), pick(random, keys), pick(random, modalities)];
  const ending = pick(random, ['charged', 'charged', 'free', 'refunded', 'cancelled'] as const);
  const [promptTokens, completionTokens] = [Math.floor(random() * 900), Math.floor(random() * 900)];
  const chargedNano = ending === 'charged' || ending === 'cancelled' ? BigInt(1 + Math.floor(random() * 9_999)) : 0n;
  const state = { charged: 'succeeded', free: 'succeeded', refunded: 'failed', cancelled: 'cancelled' }[ending];
  const endedAt = new Date(randomMoment(random, baseMs));
  await client.query('BEGIN');
  await client.query(
    `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, created_at, deadline_at, finished_at,
                       prompt_tokens, cached_tokens, completion_tokens)
     VALUES ($1, $2, $3, $4, $5, 'queued', $6, $6, NULL, $7, $7 / 2, $8)`,
    [requestId, account, key, modality, model, endedAt, promptTokens, completionTokens],
  );
  if (ending !== 'free') {
    await client.query(`SELECT ledger_reserve($1, $2, $3, $4, 20000, NULL, NULL)`, [requestId, account, key, model]);
    const lines = [
      { sku: `${model}-llm-output-mtoken`, units: 0.5, unitPriceNano: 1_000, amountNano: Number(chargedNano) },
    ];
    const settled = ending === 'refunded' ? 'released' : 'settled';
    await client.query(`SELECT ledger_close($1, 1, $2::hold_state, $3::jsonb)`, [
      requestId,
      settled,
      JSON.stringify(lines),
    ]);
  }
  await client.query(`UPDATE jobs SET state = $2::job_state, finished_at = $3 WHERE request_id = $1`, [
    requestId,
    state,
    endedAt,
  ]);
  // The ledger itself refuses to date entries back.
  await client.query('SET LOCAL session_replication_role = replica');
  await client.query(
    `UPDATE ledger_entries SET created_at = $2 WHERE transaction_id IN
       (SELECT id FROM ledger_transactions WHERE request_id = $1)`,
    [requestId, endedAt],
  );
  await client.query('COMMIT');
  const isCounted = ending !== 'refunded';
  return {
    requestId,
    endedAtMs: endedAt.getTime(),
    model,
    key,
    modality,
    isCounted,
    promptTokens,
    completionTokens,
    chargedNano,
  };
}

const keyOf: Record<UsageGrouping, (request: Traffic, date: (ms: number) => string) => string> = {
  day: ({ endedAtMs }, date) => date(endedAtMs),
  model: ({ model }) => model,
  key: ({ key }) => key,
  type: ({ modality }) => modality,
};

/** The same sums, from what this test wrote. */
function expected(requests: Traffic[]): UsageFigures {
  const counted = requests.filter(({ isCounted }) => isCounted);
  const sum = (read: (request: Traffic) => number) => counted.reduce((total, request) => total + read(request), 0);
  return {
    requests: counted.length,
    failed: requests.length - counted.length,
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ promptTokens }) => Math.floor(promptTokens / 2)),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    spendNano: requests.reduce((total, { chargedNano }) => total + chargedNano, 0n),
    diemNano: 0n,
  };
}

/** The account, and each part of it that a report can be narrowed to. */
function selections(): (UsageSelection & { accountId: string })[] {
  const [apiKeyId = ''] = keys;
  const modelId = 'small';
  const all = { accountId: account, apiKeyId: null, modelId: null };
  return [all, { ...all, apiKeyId }, { ...all, modelId }, { ...all, apiKeyId, modelId }];
}

const isIn =
  ({ apiKeyId, modelId }: UsageSelection) =>
  ({ key, model }: Traffic) =>
    (apiKeyId === null || key === apiKeyId) && (modelId === null || model === modelId);

/** What the ledger itself says was charged between two moments. */
async function ledgerSum(selection: UsageSelection, fromMs: number, toMs: number): Promise<bigint> {
  const { accountId, apiKeyId, modelId } = selection;
  const { rows } = await client.query<{ sum: string }>(
    `SELECT COALESCE(-sum(e.amount_nano), 0)::text AS sum FROM ledger_entries e
       JOIN ledger_accounts a ON a.id = e.ledger_account_id JOIN ledger_transactions t ON t.id = e.transaction_id
      WHERE a.account_id = $1 AND e.sku IS NOT NULL AND e.created_at >= $2 AND e.created_at < $3
        AND ($4::uuid IS NULL OR t.api_key_id = $4) AND ($5::text IS NULL OR t.model_id = $5)`,
    [accountId, new Date(fromMs), new Date(toMs), apiKeyId, modelId],
  );
  return BigInt(rows[0]?.sum ?? '0');
}

/** Reports of every zone, selection and grouping, for two of the three days in that zone. */
async function checkReports(): Promise<void> {
  for (const timeZone of zones) {
    const date = dateIn(timeZone);
    const firstMs = Math.min(...traffic.map(({ endedAtMs }) => endedAtMs));
    const days = { startDate: date(firstMs + dayMs), endDate: date(firstMs + 2 * dayMs), timeZone };
    for (const selection of selections()) {
      for (const groupBy of usageGroupings) await checkReport(selection, days, groupBy);
    }
  }
}

async function checkReport(selection: UsageSelection, days: DayRange, groupBy: UsageGrouping): Promise<void> {
  const { timeZone } = days;
  const date = dateIn(timeZone);
  const borders = dayBorders(days);
  const [fromMs = 0, toMs = 0] = [borders[0], borders.at(-1)];
  const within = traffic
    .filter(({ endedAtMs }) => endedAtMs >= fromMs && endedAtMs < toMs)
    .filter((request) => isIn(selection)(request));
  const { groups, total } = await reports.report(selection, days, groupBy);
  const what = { ...selection, timeZone, groupBy };
  expect({ ...what, ...total }).toEqual({ ...what, ...expected(within) });
  expect(total.spendNano).toBe(await ledgerSum(selection, fromMs, toMs));
  const wanted =
    groupBy === 'day'
      ? datesBetween(days.startDate, days.endDate)
      : [...new Set(within.map((one) => keyOf[groupBy](one, date)))];
  expect(groups.map(({ key }) => key).toSorted()).toEqual(wanted.toSorted());
  for (const { key, label: _label, ...figures } of groups) {
    const own = within.filter((request) => keyOf[groupBy](request, date) === key);
    expect({ ...what, key, ...figures }).toEqual({ ...what, key, ...expected(own) });
  }
}

async function analyse(): Promise<unknown> {
  const day = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);
  return new UsageAnalyticsService(new UsageAnalyticsRepository(prisma)).analyse(account, {
    startDate: day(8),
    endDate: day(0),
  });
}

async function foldAll(): Promise<void> {
  const repository = new UsageFoldRepository(prisma);
  while (await repository.fold({ lagMs: 0, spanMs: 3_600_000 }));
}

describe('a usage report', () => {
  it('is what the ledger charged, in the days of every zone, before and after the sums are folded', async () => {
    const analytics = await analyse();
    await checkReports();
    await foldAll();
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM usage_charges');
    expect(rows[0]?.count).toBeGreaterThan(10);
    await checkReports();
    expect(await analyse()).toEqual(analytics);
    // Folded a second time, everything stays as it is.
    await foldAll();
    await checkReports();
  });

  it('reads whole days from their sums', async () => {
    const { rows } = await client.query<{ day: Date; nano: string }>(
      'SELECT slot AS day, sum(amount_nano)::text AS nano FROM usage_days GROUP BY slot ORDER BY slot',
    );
    expect(rows.length).toBeGreaterThanOrEqual(3);
    const all = { accountId: account, apiKeyId: null, modelId: null };
    for (const { day, nano } of rows) {
      expect(BigInt(nano)).toBe(await ledgerSum(all, day.getTime(), day.getTime() + dayMs));
    }
    await client.query('BEGIN');
    await client.query('DELETE FROM usage_days');
    const { rows: empty } = await client.query<{ nano: string }>(
      `SELECT COALESCE(sum(amount_nano), 0)::text AS nano FROM usage_day_figures($1, $2, $3)`,
      [account, rows[0]?.day, rows.at(-1)?.day],
    );
    await client.query('ROLLBACK');
    expect(empty[0]?.nano).toBe('0');
  });

  it('is the same after an upgrade, which sums up what was folded before', async () => {
    await client.query('TRUNCATE usage_slots, usage_filtered_slots, usage_days');
    await client.query(`SELECT usage_sum_up('-infinity', through) FROM usage_folded`);
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM usage_days');
    expect(rows[0]?.count).toBeGreaterThanOrEqual(3);
    await checkReports();
  });

  it('is the same while folding ends within a day, and goes on from there', async () => {
    const middle = new Date(Math.floor(Date.now() / dayMs) * dayMs - 4.5 * dayMs + 45 * minuteMs);
    await client.query('TRUNCATE usage_slots, usage_filtered_slots, usage_days, usage_charges, usage_requests');
    await client.query(`UPDATE usage_folded SET through = '-infinity'`);
    await client.query(`SELECT usage_fold(now() - $1::timestamptz, interval '1 year')`, [middle]);
    const { rows } = await client.query<{ through: Date }>('SELECT through FROM usage_folded');
    expect(rows[0]?.through).toEqual(middle);
    await checkReports();
    await foldAll();
    await checkReports();
  });

  it('by day of a key or a model reads the sums of it alone', async () => {
    const [, ...narrowed] = selections();
    const firstMs = Math.min(...traffic.map(({ endedAtMs }) => endedAtMs));
    for (const selection of narrowed) {
      const quarters = traffic
        .filter((request) => isIn(selection)(request))
        .map(({ endedAtMs, model }) => `${Math.floor(endedAtMs / (15 * minuteMs))} ${model}`);
      const { accountId, apiKeyId, modelId } = selection;
      const { rows } = await client.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM usage_filtered_figures($1, $2, $3, $4, now())',
        [accountId, apiKeyId, modelId, new Date(firstMs - dayMs)],
      );
      expect({ ...selection, ...rows[0] }).toEqual({ ...selection, count: new Set(quarters).size });
    }
  });

  it('of all accounts has those of this one', async () => {
    const days = {
      startDate: dateIn('UTC')(Date.now() - 8 * dayMs),
      endDate: dateIn('UTC')(Date.now()),
      timeZone: 'UTC',
    };
    for (const selection of selections()) {
      for (const groupBy of usageGroupings) {
        const { total } = await reports.report({ ...selection, accountId: null }, days, groupBy);
        expect({ ...selection, groupBy, ...total }).toEqual({
          ...selection,
          groupBy,
          ...expected(traffic.filter((request) => isIn(selection)(request))),
        });
      }
    }
  });

  it('stays the same when the jobs behind it are deleted', async () => {
    await foldAll();
    await client.query(`SELECT jobs_delete_closed(interval '1 day', interval '1 day', 1000)`);
    const { rows } = await client.query('SELECT 1 FROM jobs');
    expect(rows).toEqual([]);
    await checkReports();
  });
});
