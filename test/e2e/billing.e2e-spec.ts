import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { nanosPerUsd } from '#common';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* Billing data as clients read it, through the real processes. */

interface UsageRow {
  timestamp: string;
  sku: string;
  units: number;
  pricePerUnitUsd: number;
  amount: number;
  currency: string;
  notes: string;
  inferenceDetails: { requestId: string; promptTokens: number; completionTokens: number } | null;
}

interface UsagePage {
  data: UsageRow[];
  nextCursor: string | null;
}

const creditNano = 100n * nanosPerUsd;

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ creditNano });
});

afterAll(async () => {
  await platform.stop();
});

afterEach(async () => {
  await platform.closedJobs(30_000);
  await expectInvariant(platform);
});

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${platform.adminKey}`;
  return await fetch(`${platform.baseUrl}${path}`, { headers: { authorization, ...headers } });
}

async function page(query = ''): Promise<UsagePage> {
  const response = await get(`/billing/usage-history${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as UsagePage;
}

async function chats(count: number): Promise<{ requestId: string; cost: number; promptTokens: number }[]> {
  const made = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const response = await fetch(`${platform.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'tiny-llama',
          messages: [{ role: 'user', content: `Count ${index} [[tokens=7]]` }],
          max_completion_tokens: 20,
        }),
      });
      const { id, cost, usage } = (await response.json()) as {
        id: string;
        cost: { usd: number };
        usage: { prompt_tokens: number };
      };
      return { requestId: id, cost: cost.usd, promptTokens: usage.prompt_tokens };
    }),
  );
  await platform.closedJobs(30_000);
  return made;
}

/** An ADMIN key of another account, which also has usage. */
async function createOtherAccountKey(): Promise<string> {
  const key = `slk_${randomBytes(24).toString('hex')}`;
  await platform.query(
    `WITH a AS (INSERT INTO accounts (name) VALUES ('another account') RETURNING id)
     INSERT INTO api_keys (account_id, kind, key_hash, last6) SELECT id, 'ADMIN', sha256($1::bytea), 'abcdef' FROM a`,
    [key],
  );
  return key;
}

describe('GET /billing/balance', () => {
  it('shows what can be spent and in which order', async () => {
    const [account] = await platform.query<{ id: string }>(`SELECT id FROM accounts WHERE name = 'default'`);
    const balance = async () => (await (await get('/billing/balance')).json()) as Record<string, unknown>;
    expect(await balance()).toEqual({
      canConsume: true,
      consumptionCurrency: 'USD',
      balances: { diem: null, usd: 100 },
      diemEpochAllocation: 0,
    });
    await platform.query(`SELECT ledger_credit('grant', $1, 'BUNDLED', 2500000000, NULL, '')`, [account?.id]);
    expect(await balance()).toMatchObject({
      consumptionCurrency: 'BUNDLED_CREDITS',
      balances: { diem: null, usd: 102.5 },
    });
    await platform.query('SELECT ledger_set_stake($1, 3000000000)', [account?.id]);
    expect(await balance()).toMatchObject({
      consumptionCurrency: 'DIEM',
      balances: { diem: 3, usd: 102.5 },
      diemEpochAllocation: 3,
    });
    await platform.query('SELECT ledger_set_stake($1, 0)', [account?.id]);
    await platform.query(`SELECT ledger_credit('revoke', $1, 'BUNDLED', 2500000000, NULL, '')`, [account?.id]);
    const key = await createOtherAccountKey();
    const response = await get('/billing/balance', { authorization: `Bearer ${key}` });
    expect(await response.json()).toEqual({
      canConsume: false,
      consumptionCurrency: null,
      balances: { diem: null, usd: 0 },
      diemEpochAllocation: 0,
    });
  });
});

describe('GET /billing/usage', () => {
  it.each<Record<string, string>>([{}, { authorization: 'Bearer slk_wrong' }, { authorization: 'nonsense' }])(
    'is removed for everyone and names its successor: %j',
    async (headers) => {
      const response = await fetch(`${platform.baseUrl}/billing/usage?limit=1`, { headers });
      expect(response.status).toBe(410);
      expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
      expect(Number.isNaN(Date.parse(response.headers.get('sunset') ?? ''))).toBe(false);
      expect(response.headers.get('link')).toBe('</api/v1/billing/usage-history>; rel="successor-version"');
      expect(await response.json()).toEqual({ error: expect.stringContaining('gone'), code: 'ENDPOINT_RETIRED' });
    },
  );
});

describe('GET /billing/usage-history', () => {
  it('lists the charges, which match the responses', async () => {
    const [{ requestId, cost, promptTokens }] = (await chats(1)) as [Awaited<ReturnType<typeof chats>>[number]];
    const rows = (await page()).data.filter((row) => row.inferenceDetails?.requestId === requestId);
    expect(rows.map(({ sku }) => sku)).toEqual(['tiny-llama-llm-input-mtoken', 'tiny-llama-llm-output-mtoken']);
    expect(rows.reduce((sum, { amount }) => sum - amount, 0)).toBeCloseTo(cost, 12);
    expect(rows[1]).toEqual({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      sku: 'tiny-llama-llm-output-mtoken',
      units: 0.000007,
      pricePerUnitUsd: 0.2,
      amount: -0.0000014,
      currency: 'USD',
      notes: 'API inference',
      inferenceDetails: {
        requestId,
        inferenceExecutionTime: expect.any(Number),
        promptTokens,
        completionTokens: 7,
      },
    });
  });

  it('is paged by cursors that return everything once while more is charged', async () => {
    await chats(12);
    const running = chats(12);
    const seen: UsageRow[] = [];
    let next = await page('?pageSize=10');
    seen.push(...next.data);
    while (next.nextCursor !== null) {
      next = await page(`?cursor=${next.nextCursor}`);
      expect(next.data.length).toBeLessThanOrEqual(10);
      seen.push(...next.data);
    }
    await running;
    expect(seen.length).toBeGreaterThanOrEqual(24);
    expect((await page()).data.slice(0, seen.length)).toEqual(seen);
  });

  it('filters by currency and time', async () => {
    await chats(3);
    const { data } = await page();
    const third = data[2]?.timestamp ?? '';
    const last = data.at(-1)?.timestamp ?? '';
    const between = await page(`?startTimestamp=${third}&endTimestamp=${last}`);
    expect(between.data).toEqual(data.filter(({ timestamp }) => timestamp >= third && timestamp < last));
    expect((await page('?currency=DIEM')).data).toEqual([]);
    expect((await page('?currency=USD&foo=bar')).data).toEqual(data);
  });

  it('is available as CSV', async () => {
    await chats(6);
    const response = await get('/billing/usage-history?pageSize=10', { accept: 'text/csv', 'accept-encoding': 'gzip' });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename=billing-usage-history-\d{8}T\d{9}Z\.csv$/,
    );
    const cursor = response.headers.get('x-next-cursor') ?? '';
    const lines = (await response.text()).split('\r\n');
    expect(lines).toHaveLength(12);
    expect(lines[0]).toBe(
      'timestamp,sku,units,pricePerUnitUsd,amount,currency,notes,inferenceDetails.requestId,' +
        'inferenceDetails.inferenceExecutionTime,inferenceDetails.promptTokens,inferenceDetails.completionTokens',
    );
    const first = (await page('?pageSize=10')).data[0];
    expect(lines[1]?.split(',').slice(0, 2)).toEqual([first?.timestamp, first?.sku]);
    const second = await get(`/billing/usage-history?cursor=${cursor}`, { accept: 'text/csv' });
    expect((await second.text()).split('\r\n')[0]).toBe(lines[0]);
  });

  it('rejects a cursor of another account, an altered one, and a filter beside one', async () => {
    await chats(6);
    const cursor = (await page('?pageSize=10')).nextCursor ?? '';
    const key = await createOtherAccountKey();
    const foreign = await get(`/billing/usage-history?cursor=${cursor}`, { authorization: `Bearer ${key}` });
    expect(foreign.status).toBe(400);
    expect(await foreign.json()).toMatchObject({ code: 'INVALID_REQUEST', issues: [{ path: ['cursor'] }] });
    const flipped = cursor.slice(0, 50) + (cursor[50] === 'A' ? 'B' : 'A') + cursor.slice(51);
    for (const query of [
      `cursor=${flipped}`,
      `cursor=${cursor}x`,
      'cursor=',
      `cursor=${'A'.repeat(600)}`,
      `cursor=${cursor}&pageSize=10`,
      `cursor=${cursor}&currency=USD`,
      `cursor=${cursor}&cursor=${cursor}`,
    ]) {
      expect((await get(`/billing/usage-history?${query}`)).status, query).toBe(400);
    }
    expect((await page(`?cursor=${cursor}`)).data.length).toBeGreaterThan(0);
  });

  it.each([
    'currency=EUR',
    'pageSize=9',
    'pageSize=1001',
    'pageSize=-1',
    'pageSize=NaN',
    'pageSize=10.5',
    'startTimestamp=now',
    'startTimestamp=2026-01-01T00:00:00Z&endTimestamp=2026-01-01T00:00:00Z',
    'endTimestamp=2026-13-01T00:00:00Z',
  ])('refuses %s', async (query) => {
    const response = await get(`/billing/usage-history?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'INVALID_REQUEST', details: { _errors: [] } });
  });
});

describe('GET /billing/usage-analytics', () => {
  it('sums by day, model and key', async () => {
    await chats(2);
    const total = (await page()).data.reduce((sum, { amount }) => sum - amount, 0);
    const response = await get('/billing/usage-analytics?lookback=2d');
    const usage = (await response.json()) as Record<string, unknown[]> & { byDate: { USD: number }[] };
    expect(Object.keys(usage)).toEqual([
      'lookback',
      'byDate',
      'byModel',
      'byModelDaily',
      'topModels',
      'byKey',
      'byKeyDaily',
      'topKeyNames',
    ]);
    expect(usage['lookback']).toBe('2d');
    expect(usage.byDate).toHaveLength(2);
    expect(usage.byDate.reduce((sum, { USD }) => sum + USD, 0)).toBeCloseTo(total, 9);
    expect(usage['byModel']).toMatchObject([
      { modelName: 'tiny-llama', unitType: 'tokens', modelType: 'LLM', totalDiem: 0, breakdown: [{}, {}] },
    ]);
    expect(usage['topModels']).toEqual(['tiny-llama']);
    expect(usage['byKey']).toMatchObject([{ apiKeyId: expect.any(String), description: 'created at first start' }]);
    expect(usage['byModelDaily']?.[0]).toEqual({ date: expect.any(Number), 'tiny-llama': 0 });
    // Cached for ten minutes, here less: new usage does not show yet.
    await chats(1);
    expect(await (await get('/billing/usage-analytics?lookback=2d')).json()).toEqual(usage);
  });

  it.each([
    'lookback=91d',
    'lookback=0d',
    'lookback=week',
    'startDate=2026-01-01',
    'endDate=2026-02-30&startDate=2026-02-01',
    'startDate=0000-01-01&endDate=0000-01-01',
  ])('refuses %s', async (query) => {
    const response = await get(`/billing/usage-analytics?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'INVALID_REQUEST' });
  });
});
