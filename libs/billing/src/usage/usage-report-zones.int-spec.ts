import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { insertCustomer, insertKey } from '#test/finished-requests';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { dateIn, dayBorders } from './local-days.js';
import { UsageAnalyticsRepository } from './usage-analytics.repository.js';
import {
  type UsageFigures,
  type UsageGrouping,
  usageGroupings,
  UsageReportRepository,
} from './usage-report.repository.js';
import { UsageReportService } from './usage-report.service.js';

const dayMs = 86_400_000;
const quarterMs = 15 * 60_000;
// Clocks change in New York on 8 March, in Europe on 29 March, and on Lord Howe and Chatham on 5 April.
const fromMs = Date.parse('2026-03-05T00:00:00Z');
const throughMs = Date.parse('2026-04-07T10:15:00Z');
const zones = [
  'UTC',
  'America/New_York',
  'Atlantic/Azores',
  'Atlantic/Cape_Verde',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
];

interface Slot {
  atMs: number;
  model: string;
  key: string;
  modality: string;
  isDiem: boolean;
  amountNano: number;
  requests: number;
  failed: number;
  tokens: number;
}

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let account: string;
let slots: Slot[];
let reports: UsageReportService;

/** Usage in two of five quarters; a refund of an earlier quarter makes an amount negative. */
function writtenSlots(keys: readonly string[]): Slot[] {
  const written: Slot[] = [];
  for (let atMs = fromMs, n = 0; atMs < throughMs; atMs += quarterMs, n += 1) {
    // Fractions of multiples of an irrational number are spread evenly, and are the same in every run.
    const spread = Math.floor(((n * Math.SQRT2) % 1) * 10_000);
    if (spread % 5 > 1) continue;
    written.push({
      atMs,
      model: spread % 2 === 0 ? 'small' : 'large',
      key: keys[spread % 3 === 0 ? 0 : 1] ?? '',
      modality: spread % 7 < 4 ? 'chat' : 'image',
      isDiem: spread % 4 === 0,
      amountNano: spread % 11 === 0 ? -spread : spread * 1_001,
      requests: spread % 3,
      failed: spread % 2,
      tokens: spread % 900,
    });
  }
  return written;
}

async function writeSlots(): Promise<void> {
  const rows = JSON.stringify(slots.map(({ atMs, ...rest }) => ({ ...rest, slot: new Date(atMs).toISOString() })));
  const columns = `jsonb_to_recordset($2::jsonb) AS s(slot timestamptz, model text, key uuid, modality text, "isDiem" boolean,
                   "amountNano" bigint, requests bigint, failed bigint, tokens bigint)`;
  await client.query(
    `INSERT INTO usage_charges (account_id, slot, model_id, api_key_id, modality, sku, is_diem, amount_nano, units)
     SELECT $1::uuid, slot, model, key, modality, 's', "isDiem", "amountNano", 1 FROM ${columns}`,
    [account, rows],
  );
  await client.query(
    `INSERT INTO usage_requests (account_id, slot, model_id, api_key_id, modality, requests, failed, prompt_tokens,
                                 cached_tokens, completion_tokens)
     SELECT $1::uuid, slot, model, key, modality, requests, failed, tokens, tokens / 2, tokens * 2 FROM ${columns}`,
    [account, rows],
  );
}

beforeAll(async () => {
  database = await createMigratedDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  // The server's own zone must not matter: here, its days have 23 hours too.
  await client.query(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone TO %L', current_database(),
                      'America/New_York'); END $$`);
  await client.query(`SET timezone TO 'America/New_York'`);
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  reports = new UsageReportService(new UsageReportRepository(prisma, new UsageAnalyticsRepository(prisma)));
  const customer = await insertCustomer(client);
  account = customer.account;
  const second = await insertKey(client, account, { last6: 'fedcba', description: 'second' });
  slots = writtenSlots([customer.key, second]);
  await writeSlots();
  // One step for each seven hours and a quarter, as ops folds: days end within steps.
  for (let atMs = fromMs; atMs < throughMs; atMs += 29 * quarterMs) {
    const untilMs = Math.min(atMs + 29 * quarterMs, throughMs);
    await client.query('SELECT usage_sum_up($1, $2)', [new Date(atMs), new Date(untilMs)]);
  }
  await client.query('UPDATE usage_folded SET through = $1', [new Date(throughMs)]);
});

afterAll(async () => {
  await client.end();
  await prisma.$disconnect();
  await database.drop();
});

function expected(within: readonly Slot[]): UsageFigures {
  const sum = (read: (slot: Slot) => number) => within.reduce((total, slot) => total + read(slot), 0);
  return {
    requests: sum(({ requests }) => requests),
    failed: sum(({ failed }) => failed),
    promptTokens: sum(({ tokens }) => tokens),
    cachedTokens: sum(({ tokens }) => Math.floor(tokens / 2)),
    completionTokens: sum(({ tokens }) => tokens * 2),
    spendNano: BigInt(sum(({ amountNano }) => amountNano)),
    diemNano: BigInt(sum(({ amountNano, isDiem }) => (isDiem ? amountNano : 0))),
  };
}

function filters(): { apiKeyId: string | null; modelId: string | null }[] {
  const [{ key: apiKeyId, model: modelId } = { key: '', model: '' }] = slots;
  return [
    { apiKeyId, modelId: null },
    { apiKeyId: null, modelId },
    { apiKeyId, modelId },
  ];
}

const keyOf: Record<UsageGrouping, (slot: Slot, date: (ms: number) => string) => string> = {
  day: ({ atMs }, date) => date(atMs),
  model: ({ model }) => model,
  key: ({ key }) => key,
  type: ({ modality }) => modality,
};

/** Compares every group of a report with the quarters of its days. */
async function checkReport(
  timeZone: string,
  { startMs, days }: { startMs: number; days: number },
  groupBy: UsageGrouping,
  filter: { apiKeyId: string | null; modelId: string | null } = { apiKeyId: null, modelId: null },
): Promise<void> {
  const [startDate, endDate] = [startMs, startMs + (days - 1) * dayMs].map((ms) =>
    new Date(ms).toISOString().slice(0, 10),
  );
  const range = { startDate: startDate ?? '', endDate: endDate ?? '', timeZone };
  const borders = dayBorders(range);
  const within = slots
    .filter(({ atMs }) => atMs >= (borders[0] ?? 0) && atMs < (borders.at(-1) ?? 0))
    .filter(({ key }) => filter.apiKeyId === null || key === filter.apiKeyId)
    .filter(({ model }) => filter.modelId === null || model === filter.modelId);
  const { groups, total } = await reports.report({ accountId: account, ...filter }, range, groupBy);
  const what = { ...range, ...filter, groupBy };
  expect({ ...what, ...total }).toEqual({ ...what, ...expected(within) });
  const date = dateIn(timeZone);
  for (const { key, label: _label, ...figures } of groups) {
    const own = within.filter((slot) => keyOf[groupBy](slot, date) === key);
    expect({ ...what, key, ...figures }).toEqual({ ...what, key, ...expected(own) });
  }
}

describe('a usage report of days on which clocks change', () => {
  it.each(zones)('is the sum of its quarters in %s, whatever the zone of the database', async (timeZone) => {
    const [session] = await prisma.$queryRaw<{ zone: string }[]>`SELECT current_setting('timezone') AS zone`;
    expect(session?.zone).toBe('America/New_York');
    for (let startMs = fromMs + dayMs; startMs < throughMs; startMs += dayMs) {
      for (const days of [1, 3]) {
        for (const groupBy of usageGroupings) await checkReport(timeZone, { startMs, days }, groupBy);
      }
      for (const filter of filters()) await checkReport(timeZone, { startMs, days: 2 }, 'day', filter);
    }
  });
});
