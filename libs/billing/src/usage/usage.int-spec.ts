import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Currency, nanosPerUsd, newRequestId, noTokens } from '#common';
import { PrismaService } from '#platform/prisma';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import type { ChargeLine } from '#model-registry/manifest';
import { JobQuote } from '../job-quote.js';
import { LedgerRepository } from '../ledger.repository.js';
import { createLedger } from '../create-ledger.js';
import { LedgerService } from '../ledger.service.js';
import { KeyUsageRepository } from './key-usage.repository.js';
import { UsageAnalyticsRepository } from './usage-analytics.repository.js';
import { UsageAnalyticsService } from './usage-analytics.service.js';
import { cursorMs, type UsageFilter } from './usage-cursor.js';
import type { UsageEntry } from './usage-history.repository.js';
import { UsageHistoryService } from './usage-history.service.js';
import { UsageHistoryRepository } from './usage-history.repository.js';

const secretKey = 'cd'.repeat(32);
const whole: UsageFilter = { currency: null, startMs: null, endMs: null, pageSize: 10 };
const limits = { maxWait: 30_000, timeout: 30_000 };
const oneDayMs = 86_400_000;

let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let ledger: LedgerService;
let history: UsageHistoryService;
let account: string;
let key: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 20 });
  pool = new pg.Pool({ connectionString: database.url, max: 5 });
  ledger = createLedger(prisma);
  history = new UsageHistoryService(new UsageHistoryRepository(prisma), { secretKeys: [secretKey] });
});

afterAll(async () => {
  await prisma.$disconnect();
  await pool.end();
  await database.drop();
});

beforeEach(async () => {
  account = randomUUID();
  await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'a')`, [account]);
  key = await newKey();
});

afterEach(async () => {
  await expectInvariant({ databaseUrl: database.url });
});

async function newKey(description = 'a key', limit: { usd?: bigint; period?: string } = {}): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO api_keys (account_id, kind, key_hash, last6, description, limit_usd_nano, limit_period)
     VALUES ($1, 'INFERENCE', sha256($2::bytea), 'abcdef', $3, $4, $5) RETURNING id`,
    [account, randomUUID(), description, limit.usd ?? null, limit.period ?? 'EPOCH'],
  );
  return rows[0]?.id ?? '';
}

async function give(currency: Currency, amountNano = 5n * nanosPerUsd): Promise<void> {
  await ledger.credit('grant', { accountId: account, currency, amountNano });
}

function line(sku: string, amountNano: bigint, units = '0.5'): ChargeLine {
  return { sku, units, unitPriceNano: 2n * amountNano, amountNano };
}

/** A job that ran and was charged, as the platform leaves it. */
async function pay(lines: ChargeLine[], { modelId = 'm', apiKeyId = key } = {}): Promise<string> {
  const requestId = newRequestId('TST');
  const total = lines.reduce((sum, { amountNano }) => sum + amountNano, 0n);
  const job = { requestId, accountId: account, apiKeyId, modelId };
  await prisma.$transaction(async (transaction) => {
    await transaction.$executeRaw`
      INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at, state, prompt_tokens,
                        completion_tokens, execution_ms)
      VALUES (${requestId}, ${account}::uuid, ${apiKeyId}::uuid, 'chat', ${modelId}, now(), 'queued', 3, 0, 12)`;
    const quote = new JobQuote(total, { id: 1n, modelId, pricing: null }, noTokens);
    await new LedgerRepository(prisma).reserve([{ job, quote }], transaction);
  }, limits);
  await prisma.$transaction(async (transaction) => {
    await new LedgerRepository(prisma).close([{ requestId, accountId: account, attempt: 1, lines }], transaction);
    await transaction.$executeRaw`UPDATE jobs SET state = 'succeeded', finished_at = now() WHERE request_id = ${requestId}`;
  }, limits);
  return requestId;
}

/** Dates all charges days back; the ledger itself refuses that. */
async function age(days: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SET LOCAL session_replication_role = replica');
    const entries = 'SELECT id FROM ledger_accounts WHERE account_id = $1';
    const past = `created_at = created_at - $2 * interval '1 day'`;
    await client.query(`UPDATE ledger_entries SET ${past} WHERE ledger_account_id IN (${entries})`, [account, days]);
    await client.query(
      `UPDATE key_daily_spend SET day = day - $2::int WHERE api_key_id IN (SELECT id FROM api_keys WHERE account_id = $1)`,
      [account, days],
    );
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

/** Returns all pages from the first one on. */
async function readAll(filter: UsageFilter = whole, service = history): Promise<UsageEntry[]> {
  let page = await service.first(account, filter);
  const found = [...page.entries];
  while (page.nextCursor !== null) {
    page = await service.next(account, page.nextCursor);
    found.push(...page.entries);
  }
  return found;
}

async function entryIds(): Promise<bigint[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT e.id FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.ledger_account_id
      WHERE a.account_id = $1 AND e.sku IS NOT NULL ORDER BY e.created_at, e.id`,
    [account],
  );
  return rows.map(({ id }) => BigInt(id));
}

describe('the usage history', () => {
  it('has a line for each unit and each currency that paid it, with its request', async () => {
    await ledger.setStake(account, nanosPerUsd);
    await give('BUNDLED', nanosPerUsd);
    await give('USD');
    const requestId = await pay([
      line('m-llm-input-mtoken', 500_000_000n),
      line('m-llm-output-mtoken', 2n * nanosPerUsd),
    ]);
    const entries = await readAll();
    expect(entries.map(({ sku, currency, amountNano, units }) => [sku, currency, amountNano, Number(units)])).toEqual([
      ['m-llm-input-mtoken', 'DIEM', -500_000_000n, 0.5],
      ['m-llm-output-mtoken', 'DIEM', -500_000_000n, 0.125],
      ['m-llm-output-mtoken', 'BUNDLED', -1_000_000_000n, 0.25],
      ['m-llm-output-mtoken', 'USD', -500_000_000n, 0.125],
    ]);
    expect(entries[0]).toMatchObject({ requestId, promptTokens: 3, completionTokens: 0, executionMs: 12, note: '' });
    expect(entries[0]).toMatchObject({ unitPriceNano: 1_000_000_000n });
    expect((await readAll({ ...whole, currency: 'BUNDLED' })).map(({ currency }) => currency)).toEqual(['BUNDLED']);
  });

  it('shows nothing of other accounts, and neither credit nor allowance', async () => {
    await give('USD');
    await pay([line('mine', 1n)]);
    const first = account;
    account = randomUUID();
    await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'b')`, [account]);
    expect(await readAll()).toEqual([]);
    account = first;
    expect((await readAll()).map(({ sku }) => sku)).toEqual(['mine']);
  });

  it('respects its time range, start included and end excluded', async () => {
    await give('USD');
    for (const sku of ['a', 'b', 'c']) await pay([line(sku, 1n)]);
    const [, second, third] = await readAll();
    const startMs = second?.createdAt.getTime() ?? 0;
    const endMs = third?.createdAt.getTime() ?? 0;
    const skus = async (filter: Partial<UsageFilter>) => (await readAll({ ...whole, ...filter })).map(({ sku }) => sku);
    expect(await skus({ startMs })).toEqual(['b', 'c']);
    expect(await skus({ endMs })).toEqual(['a', 'b']);
    expect(await skus({ startMs, endMs })).toEqual(['b']);
    expect(await skus({ startMs: endMs + 1 })).toEqual([]);
  });

  it('ends with a full page when nothing follows it', async () => {
    await give('USD');
    for (let count = 0; count < 5; count += 1) await pay([line('a', 1n), line('b', 1n)]);
    const page = await history.first(account, whole);
    expect(page.entries).toHaveLength(10);
    expect(page.nextCursor).toBeNull();
  });

  it('misses nothing and repeats nothing while requests are settled concurrently', async () => {
    await give('USD');
    await pay([line('a', 1n), line('b', 1n)]);
    let writing = true;
    const writers = Array.from({ length: 8 }, async () => {
      for (let count = 0; count < 12; count += 1) await pay([line('a', 1n), line('b', 1n), line('c', 1n)]);
    });
    const done = Promise.all(writers).finally(() => (writing = false));
    while (writing) {
      const seen = (await readAll()).map(({ entryId }) => entryId);
      // Later writes come after what was read: what was read stays the beginning.
      expect(seen).toEqual((await entryIds()).slice(0, seen.length));
    }
    await done;
    expect((await readAll()).map(({ entryId }) => entryId)).toEqual(await entryIds());
    expect(await entryIds()).toHaveLength(2 + 8 * 12 * 3);
  });
});

describe('a cursor', () => {
  it('continues with the filters of its first page, on any replica, for 24 h', async () => {
    await give('BUNDLED', 12n);
    await give('USD');
    for (let count = 0; count < 12; count += 1) await pay([line('a', 1n), line('b', 1n)]);
    const filter: UsageFilter = { ...whole, currency: 'BUNDLED', endMs: Date.now() + oneDayMs };
    const { nextCursor } = await history.first(account, filter);
    let nowMs = Date.now() + cursorMs - 1_000;
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    const replica = new UsageHistoryService(new UsageHistoryRepository(prisma), { secretKeys: [secretKey] }, clock);
    const { entries } = await replica.next(account, nextCursor ?? '');
    expect(entries.map(({ currency }) => currency)).toEqual(['BUNDLED', 'BUNDLED']);
    nowMs += 60_000;
    await expect(replica.next(account, nextCursor ?? '')).rejects.toMatchObject({ param: 'cursor' });
  });

  it('is refused for another account, altered or under another secret', async () => {
    await give('USD');
    for (let count = 0; count < 11; count += 1) await pay([line('a', 1n)]);
    const cursor = (await history.first(account, whole)).nextCursor ?? '';
    const refusal = { code: 'INVALID_REQUEST', param: 'cursor' };
    await expect(history.next(randomUUID(), cursor)).rejects.toMatchObject(refusal);
    await expect(history.next(account, `${cursor}A`)).rejects.toMatchObject(refusal);
    await expect(
      new UsageHistoryService(new UsageHistoryRepository(prisma), { secretKeys: ['ef'.repeat(32)] }).next(
        account,
        cursor,
      ),
    ).rejects.toMatchObject(refusal);
  });
});

describe('the usage of keys', () => {
  const usageOf = async (id: string) => (await new KeyUsageRepository(prisma).usageOfKeys([id])).get(id);

  it('is the charge of today and of the six days before, and of the period of its limits', async () => {
    await ledger.setStake(account, nanosPerUsd);
    await give('USD');
    const monthly = await newKey('monthly', { usd: nanosPerUsd, period: 'LIFETIME' });
    await pay([line('a', nanosPerUsd + 50n)], { apiKeyId: monthly });
    await age(6);
    await pay([line('a', 7n)], { apiKeyId: monthly });
    expect(await usageOf(monthly)).toEqual({
      sevenDaysUsdNano: 57n,
      sevenDaysDiemNano: nanosPerUsd,
      periodUsdNano: 57n,
      periodDiemNano: nanosPerUsd,
    });
    await age(1);
    expect(await usageOf(monthly)).toMatchObject({ sevenDaysUsdNano: 7n, sevenDaysDiemNano: 0n, periodUsdNano: 57n });
    expect(await usageOf(key)).toMatchObject({ sevenDaysUsdNano: 0n, periodUsdNano: 0n });
    expect(await usageOf(randomUUID())).toBeUndefined();
  });

  it('resets with the day for a daily limit', async () => {
    await give('USD');
    const daily = await newKey('daily', { usd: nanosPerUsd });
    await pay([line('a', 9n)], { apiKeyId: daily });
    expect(await usageOf(daily)).toMatchObject({ periodUsdNano: 9n });
    await pool.query('UPDATE key_spend SET day_start = day_start - 1 WHERE api_key_id = $1', [daily]);
    expect(await usageOf(daily)).toMatchObject({ periodUsdNano: 0n, sevenDaysUsdNano: 9n });
  });
});

describe('usage analytics', () => {
  const today = new Date().toISOString().slice(0, 10);
  const before = (days: number) => new Date(Date.parse(today) - days * oneDayMs).toISOString().slice(0, 10);

  async function prepare(): Promise<{ named: string }> {
    await pool.query(
      `INSERT INTO prices (model_id, model_type) VALUES ('chat-model', 'text'), ('draw-model', 'image')`,
    );
    const named = await newKey('Batch');
    await give('USD');
    await pay([line('chat-model-llm-input-mtoken', 400n), line('chat-model-llm-output-mtoken', 600n, '0.000002')], {
      modelId: 'chat-model',
    });
    await age(1);
    await ledger.setStake(account, nanosPerUsd);
    await pay([line('draw-model-image-unit', 5_000n, '2')], { modelId: 'draw-model', apiKeyId: named });
    return { named };
  }

  it('add up days, models and keys, the highest spend first', async () => {
    const { named } = await prepare();
    const usage = await new UsageAnalyticsService(new UsageAnalyticsRepository(prisma)).analyse(account, {
      startDate: before(2),
      endDate: today,
    });
    expect(usage.byDate).toEqual([
      { date: before(2), usdNano: 0n, diemNano: 0n },
      { date: before(1), usdNano: 1_000n, diemNano: 0n },
      { date: today, usdNano: 0n, diemNano: 5_000n },
    ]);
    expect(usage.byModel).toMatchObject([
      { modelName: 'draw-model', unitType: 'images', modelType: 'IMAGE', usdNano: 0n, diemNano: 5_000n, units: 2 },
      { modelName: 'chat-model', unitType: 'tokens', modelType: 'LLM', usdNano: 1_000n, diemNano: 0n, units: 500_002 },
    ]);
    expect(usage.byModel[1]?.parts).toEqual([
      { type: 'output', usdNano: 600n, diemNano: 0n, units: 2 },
      { type: 'input', usdNano: 400n, diemNano: 0n, units: 500_000 },
    ]);
    expect(usage.byKey).toEqual([
      { apiKeyId: named, name: 'Batch', usdNano: 0n, diemNano: 5_000n, units: 2 },
      { apiKeyId: key, name: 'a key', usdNano: 1_000n, diemNano: 0n, units: 500_002 },
    ]);
    expect(usage.topModels).toEqual(['draw-model', 'chat-model']);
    expect(usage.topKeyNames).toEqual(['Batch', 'a key']);
    expect(usage.byModelDaily.at(-1)?.diemByName).toEqual(
      new Map([
        ['draw-model', 5_000n],
        ['chat-model', 0n],
      ]),
    );
    expect(usage.byKeyDaily.map(({ date }) => date)).toEqual([before(2), before(1), today]);
  });

  it('leave out what lies outside the requested days', async () => {
    await prepare();
    const service = new UsageAnalyticsService(new UsageAnalyticsRepository(prisma));
    const usage = await service.analyse(account, { startDate: before(1), endDate: before(1) });
    expect(usage.byModel.map(({ modelName }) => modelName)).toEqual(['chat-model']);
    const none = await service.analyse(account, { startDate: before(9), endDate: before(5) });
    expect(none).toMatchObject({ byModel: [], byKey: [], topModels: [], topKeyNames: [] });
  });

  it('stay the same for 10 minutes, per account', async () => {
    let nowMs = 0;
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    const service = new UsageAnalyticsService(new UsageAnalyticsRepository(prisma), { clock });
    const days = { startDate: before(6), endDate: today };
    const spent = async () => (await service.analyse(account, days)).byDate.at(-1)?.usdNano;
    await give('USD');
    expect(await spent()).toBe(0n);
    await pay([line('a', 7n)]);
    nowMs = 599_999;
    expect(await spent()).toBe(0n);
    nowMs = 600_000;
    expect(await spent()).toBe(7n);
    account = randomUUID();
    await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'b')`, [account]);
    expect(await spent()).toBe(0n);
  });

  it('reject with a 504 when aggregation takes too long, and are retried then', async () => {
    const client = await pool.connect();
    const service = new UsageAnalyticsService(new UsageAnalyticsRepository(prisma), { timeoutMs: 200 });
    const days = { startDate: today, endDate: today };
    try {
      await client.query('BEGIN');
      await client.query('LOCK TABLE ledger_entries IN ACCESS EXCLUSIVE MODE');
      await expect(service.analyse(account, days)).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    expect((await service.analyse(account, days)).byModel).toEqual([]);
  });
});
