import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatNanos, nanosPerUsd } from '#common';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { postText, RawConnection } from '#test/raw-http';

/* Billing through the real processes: charges, rejections, and refunds after failures. */

const path = '/api/v1/chat/completions';
const creditNano = nanosPerUsd;

interface ChargeRow {
  request_id: string;
  amount: string;
}

interface Answer {
  usage: { prompt_tokens: number; completion_tokens: number };
  cost: { usd: number; diem: number };
}

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

function chat(content: string, more: object = {}): object {
  return { model: 'tiny-llama', messages: [{ role: 'user', content }], ...more };
}

async function post(body: object, key = platform.inferenceKey): Promise<Response> {
  return await fetch(platform.origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Charge of a request once its row is closed. */
async function chargeOf(requestId: string): Promise<bigint> {
  await platform.closedJobs(30_000);
  const rows = await platform.query<ChargeRow>(
    `SELECT t.request_id, -sum(e.amount_nano) AS amount FROM ledger_transactions t
       JOIN ledger_entries e ON e.transaction_id = t.id AND e.amount_nano < 0
      WHERE t.request_id = $1 GROUP BY t.id`,
    [requestId],
  );
  expect(rows.length).toBeLessThanOrEqual(1);
  return BigInt(rows[0]?.amount ?? 0);
}

async function freeNano(): Promise<bigint> {
  const [row] = await platform.query<{ free: string }>('SELECT usd_nano - usd_held_nano AS free FROM balances');
  return BigInt(row?.free ?? 0);
}

describe('a billed chat', () => {
  it('is charged the amount in its response, which also shows the balance before it', async () => {
    await platform.closedJobs();
    const before = await freeNano();
    const response = await post(chat('Pay [[tokens=20]]'));
    const { cost, usage } = (await response.json()) as Answer;
    expect(response.headers.get('x-service-balance-usd')).toBe(formatNanos(before));
    expect(response.headers.get('x-service-balance-diem')).toBe('0.000000');
    expect(usage.completion_tokens).toBe(20);
    expect(cost.usd).toBeGreaterThan(0);
    expect(Number(formatNanos(await chargeOf(response.headers.get('cf-ray') ?? ''), 9))).toBe(cost.usd);
  });

  it('reports DIEM as paying first, whole and streamed', async () => {
    await platform.query('SELECT ledger_set_stake(account_id, 100000000) FROM balances');
    const body = chat('Pay [[tokens=20]]', { stream_options: { include_usage: true } });
    const costs = await Promise.all(
      [false, true].map(async (stream) => {
        const text = await (await post({ ...body, stream })).text();
        return (JSON.parse(/\{[^\n]*"cost":[^\n]*/.exec(text)?.[0] ?? '') as Answer).cost;
      }),
    );
    for (const { usd, diem } of costs) expect([usd, diem > 0]).toEqual([0, true]);
    await platform.closedJobs(30_000);
    await platform.query('SELECT ledger_set_stake(account_id, 0) FROM balances');
    const [left] = await platform.query<{ currency: string; amount: string }>(
      `SELECT e.currency::text AS currency, sum(e.amount_nano) AS amount FROM ledger_entries e
         JOIN ledger_transactions t ON t.id = e.transaction_id WHERE t.kind = 'charge' AND e.currency = 'DIEM'
          AND e.amount_nano < 0 GROUP BY 1`,
    );
    expect(Number(formatNanos(-BigInt(left?.amount ?? 0), 9))).toBeCloseTo(
      costs.reduce((sum, { diem }) => sum + diem, 0),
      9,
    );
  });

  it('is charged for what was generated until the client disconnected from a stream', async () => {
    const raw = await RawConnection.open(platform.port);
    const body = chat('Leave [[tokens=400 delay=20]]', { stream: true });
    raw.send(postText(path, JSON.stringify(body), { authorization: `Bearer ${platform.inferenceKey}` }));
    const answer = await raw.until(/data: .*data: .*data: /s);
    const requestId = /cf-ray: (\S+)/i.exec(answer)?.[1] ?? '';
    raw.leave();
    const charged = await chargeOf(requestId);
    const [row] = await platform.query<{ prompt_tokens: number; completion_tokens: number }>(
      'SELECT prompt_tokens, completion_tokens FROM jobs WHERE request_id = $1',
      [requestId],
    );
    expect(row?.completion_tokens).toBeGreaterThan(0);
    expect(row?.completion_tokens).toBeLessThan(400);
    // The tiny model costs 0.1 and 0.2 USD per million tokens.
    expect(charged).toBe(BigInt((row?.prompt_tokens ?? 0) * 100 + (row?.completion_tokens ?? 0) * 200));
  });

  it('is charged once when ops was killed before it received the job result', async () => {
    await platform.kill('ops');
    const response = await post(chat('Settle later [[tokens=5]]'));
    const { cost } = (await response.json()) as Answer;
    await platform.start('ops');
    expect(Number(formatNanos(await chargeOf(response.headers.get('cf-ray') ?? ''), 9))).toBe(cost.usd);
  });

  it('gets a 402 and runs nothing when the balance is empty', async () => {
    await platform.closedJobs();
    const free = await freeNano();
    await platform.query(`SELECT ledger_credit('revoke', account_id, 'USD', $1, NULL, 'for a test') FROM balances`, [
      String(free),
    ]);
    const jobs = await platform.query<{ count: number }>('SELECT count(*)::int AS count FROM jobs');
    const response = await post(chat('Too poor'));
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({
      error: { code: 'INSUFFICIENT_BALANCE', type: 'insufficient_quota' },
    });
    expect(response.headers.get('x-service-balance-usd')).toBe('0.000000');
    expect(await platform.query('SELECT count(*)::int AS count FROM jobs')).toEqual(jobs);
    await platform.query(`SELECT ledger_credit('grant', account_id, 'USD', $1, NULL, '') FROM balances`, [
      String(creditNano),
    ]);
  });

  it('is rejected by the spend limit of its key', async () => {
    await platform.query(`UPDATE api_keys SET limit_usd_nano = 0 WHERE kind = 'ADMIN'`);
    const response = await post(chat('Over the limit'), platform.adminKey);
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({ error: { code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED' } });
  });

  it('gets the output that a small balance covers', async () => {
    await platform.closedJobs();
    const [price] = await platform.query<{ pricing: { input: { usd: number }; output: { usd: number } } }>(
      `SELECT pricing FROM prices WHERE model_id = 'tiny-llama'`,
    );
    const { input, output } = price?.pricing ?? { input: { usd: 0 }, output: { usd: 0 } };
    const [model] = await platform.query<{ context: number }>(
      `SELECT (manifest ->> 'contextLength')::int AS context FROM models WHERE id = 'tiny-llama'`,
    );
    const promptBound = Math.min(model?.context ?? 2_048, 'Small [[tokens=40]]'.length + 64 + 512);
    const nano = (usd: number) => BigInt(Math.round(usd * 1_000));
    const enough = BigInt(promptBound) * nano(input.usd) + 6n * nano(output.usd);
    const free = await freeNano();
    await platform.query(`SELECT ledger_credit('revoke', account_id, 'USD', $1, NULL, '') FROM balances`, [
      String(free - enough),
    ]);
    const response = await post(chat('Small [[tokens=40]]'));
    const answer = (await response.json()) as Answer & { choices: { finish_reason: string }[] };
    expect(answer.usage.completion_tokens).toBe(6);
    expect(answer.choices[0]?.finish_reason).toBe('length');
  });
});
