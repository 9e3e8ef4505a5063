import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Currency, nanosPerUsd, newRequestId, noTokens } from '#common';
import { PrismaService } from '#platform/prisma';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { JobQuote } from './job-quote.js';
import { type CloseResult, LedgerRepository, type Reserved } from './ledger.repository.js';
import { createLedger } from './create-ledger.js';
import { LedgerService } from './ledger.service.js';
import { PriceList } from './price-list.js';
import { PriceRepository } from './price.repository.js';
import { KeyUsageRepository } from './usage/key-usage.repository.js';
import { ReservationStep } from './reservation.step.js';

const usd = (amount: number): bigint => (BigInt(Math.round(amount * 1_000)) * nanosPerUsd) / 1_000n;

let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let ledger: LedgerService;
let replicas: PrismaService[];
let account: string;
let key: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 20 });
  pool = new pg.Pool({ connectionString: database.url, max: 20 });
  ledger = createLedger(prisma);
  replicas = [prisma, ...[1, 2].map(() => new PrismaService({ url: database.url, poolSize: 20 }))];
});

afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.$disconnect()));
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

async function newKey(limits: { usd?: bigint; diem?: bigint; period?: string } = {}): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO api_keys (account_id, kind, key_hash, last6, limit_usd_nano, limit_diem_nano, limit_period)
     VALUES ($1, 'INFERENCE', sha256($2::bytea), 'abcdef', $3, $4, $5) RETURNING id`,
    [account, randomUUID(), limits.usd ?? null, limits.diem ?? null, limits.period ?? 'EPOCH'],
  );
  return rows[0]?.id ?? '';
}

async function give(currency: Currency, amountNano: bigint): Promise<void> {
  await ledger.credit('grant', { accountId: account, currency, amountNano });
}

/** Admits a job as the platform does: row and reservation in one transaction, or neither. */
async function open(amountNano: bigint, options: { requestId?: string; apiKeyId?: string; replica?: number } = {}) {
  const { requestId = newRequestId('TST'), apiKeyId = key, replica = 0 } = options;
  const price = { id: 1n, modelId: 'm', pricing: null };
  const job = { requestId, accountId: account, apiKeyId, modelId: 'm' };
  let reserved: Reserved | undefined;
  await (replicas[replica] ?? prisma)
    .$prepared(async (transaction) => {
      await transaction.$executeRaw`
        INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at)
        VALUES (${requestId}, ${account}::uuid, ${apiKeyId}::uuid, 'chat', 'm', now()) ON CONFLICT DO NOTHING`;
      const options = { job, quote: new JobQuote(amountNano, price, noTokens) };
      const [answer] = await new LedgerRepository(prisma).reserve([options], transaction);
      reserved = answer ?? expect.fail('the ledger did not answer');
      if (reserved.result !== 'reserved' && reserved.result !== 'repeated') throw new Error('refused');
    })
    .catch((error: unknown) => {
      if (!(error instanceof Error) || error.message !== 'refused') throw error;
    });
  if (reserved === undefined) throw new Error('the ledger did not answer');
  return { requestId, ...reserved };
}

/** Closes a job as the platform does; `amounts` are its lines, none releases the reservation. */
async function close(requestId: string, amounts: bigint[] | null, attempt = 1): Promise<CloseResult> {
  return prisma.$prepared(async (transaction) => {
    const lines = (amounts ?? []).map((amountNano) => ({ sku: 's', units: '0.5', unitPriceNano: 1n, amountNano }));
    const closing = { requestId, accountId: account, attempt, lines: amounts && lines };
    const [{ result } = expect.fail('the ledger did not answer')] = await new LedgerRepository(prisma).close(
      [closing],
      transaction,
    );
    if (result !== 'fenced') {
      await transaction.$executeRaw`
        UPDATE jobs SET state = 'succeeded', finished_at = now() WHERE request_id = ${requestId} AND state = 'queued'`;
    }
    return result;
  });
}

async function free(): Promise<Record<Currency, bigint>> {
  const { diemNano, bundledNano, usdNano } = await ledger.balance(account);
  return { DIEM: diemNano, BUNDLED: bundledNano, USD: usdNano };
}

async function charges(requestId: string): Promise<{ currency: string; amount: bigint }[]> {
  const { rows } = await pool.query<{ currency: string; amount: string }>(
    `SELECT e.currency::text, e.amount_nano AS amount FROM ledger_entries e
       JOIN ledger_transactions t ON t.id = e.transaction_id
      WHERE t.request_id = $1 AND e.sku IS NOT NULL ORDER BY e.id`,
    [requestId],
  );
  return rows.map(({ currency, amount }) => ({ currency, amount: BigInt(amount) }));
}

async function yesterday(): Promise<void> {
  await pool.query('UPDATE balances SET diem_epoch = diem_epoch - 1 WHERE account_id = $1', [account]);
  await pool.query(`UPDATE holds SET diem_epoch = diem_epoch - 1 WHERE account_id = $1 AND state = 'open'`, [account]);
}

describe('reserve, settle, release', () => {
  it('charges what was used and refunds the rest', async () => {
    await give('USD', usd(10));
    const job = await open(usd(4));
    expect(await free()).toMatchObject({ USD: usd(6) });
    expect(await close(job.requestId, [usd(1), usd(0.5)])).toBe('settled');
    expect(await free()).toMatchObject({ USD: usd(8.5) });
    expect(await charges(job.requestId)).toEqual([
      { currency: 'USD', amount: -usd(1) },
      { currency: 'USD', amount: -usd(0.5) },
    ]);
  });

  it('refunds everything when a job is released, and posts nothing', async () => {
    await give('USD', usd(10));
    const job = await open(usd(4));
    expect(await close(job.requestId, null)).toBe('released');
    expect(await free()).toMatchObject({ USD: usd(10) });
    expect(await charges(job.requestId)).toEqual([]);
  });

  it('spends DIEM, then bundled credits, then USD, with an entry for each', async () => {
    await ledger.setStake(account, usd(1));
    await give('BUNDLED', usd(2));
    await give('USD', usd(3));
    const job = await open(usd(6));
    expect(await free()).toEqual({ DIEM: 0n, BUNDLED: 0n, USD: 0n });
    await close(job.requestId, [usd(0.5), usd(3)]);
    expect(await charges(job.requestId)).toEqual([
      { currency: 'DIEM', amount: -usd(0.5) },
      { currency: 'DIEM', amount: -usd(0.5) },
      { currency: 'BUNDLED', amount: -usd(2) },
      { currency: 'USD', amount: -usd(0.5) },
    ]);
    expect(await free()).toEqual({ DIEM: 0n, BUNDLED: 0n, USD: usd(2.5) });
  });

  it('never charges more than was reserved', async () => {
    await give('USD', usd(10));
    const job = await open(usd(2));
    await close(job.requestId, [usd(1.5), usd(5)]);
    expect(await free()).toMatchObject({ USD: usd(8) });
  });

  it('refuses what the balance does not cover, and reports how much it would cover', async () => {
    await give('USD', usd(1));
    expect(await open(usd(1) + 1n)).toMatchObject({ result: 'insufficient_balance', grantableNano: usd(1) });
    expect(await free()).toMatchObject({ USD: usd(1) });
  });

  it('admits a free request of an account without a balance', async () => {
    const job = await open(0n);
    expect(job.result).toBe('reserved');
    expect(await close(job.requestId, [])).toBe('settled');
  });

  it('reserves once, however often it is asked', async () => {
    await give('USD', usd(10));
    const job = await open(usd(4));
    const again = await Promise.all(Array.from({ length: 5 }, () => open(usd(4), { requestId: job.requestId })));
    expect(new Set(again.map(({ result }) => result))).toEqual(new Set(['repeated']));
    expect(await free()).toMatchObject({ USD: usd(6) });
    await close(job.requestId, null);
  });

  it('settles once, however many try, and neither releases a settled reservation nor settles a released one', async () => {
    await give('USD', usd(10));
    const job = await open(usd(4));
    const results = await Promise.all(Array.from({ length: 8 }, () => close(job.requestId, [usd(3)])));
    expect(results.filter((result) => result === 'settled')).toHaveLength(1);
    expect(await close(job.requestId, null)).toBe('repeated');
    const other = await open(usd(4));
    await close(other.requestId, null);
    expect(await close(other.requestId, [usd(4)])).toBe('repeated');
    expect(await free()).toMatchObject({ USD: usd(7) });
  });

  it('rejects the result of an abandoned attempt', async () => {
    await give('USD', usd(10));
    const job = await open(usd(4));
    await pool.query('UPDATE jobs SET attempt = 2 WHERE request_id = $1', [job.requestId]);
    expect(await close(job.requestId, [usd(4)], 1)).toBe('fenced');
    expect(await free()).toMatchObject({ USD: usd(6) });
    expect(await close(job.requestId, [usd(1)], 2)).toBe('settled');
    expect(await free()).toMatchObject({ USD: usd(9) });
  });

  it('reports a missing reservation for a request without one', async () => {
    expect(await close('no-such-request', [1n])).toBe('missing');
  });
});

describe('races', () => {
  it.each(Array.from({ length: 20 }, (_, run) => run))(
    'admits exactly 50 of 200 at three replicas, run %i',
    async () => {
      await give('USD', usd(50));
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, index) => open(usd(1), { replica: index % 3 })),
      );
      const admitted = results.filter(({ result }) => result === 'reserved');
      expect(admitted).toHaveLength(50);
      expect(results.filter(({ result }) => result === 'insufficient_balance')).toHaveLength(150);
      await Promise.all(admitted.map(({ requestId }) => close(requestId, [usd(1)])));
      expect(await free()).toMatchObject({ USD: 0n });
    },
  );

  it('overshoots neither a key nor its account when both limits bind', async () => {
    await give('USD', usd(40));
    const keys = await Promise.all([newKey({ usd: usd(10) }), newKey({ usd: usd(25) }), newKey()]);
    const results = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const apiKeyId = keys[index % 3] ?? key;
        const job = await open(usd(1), { apiKeyId, replica: (index % 7) % 3 });
        if (job.result === 'reserved' && index % 2) await close(job.requestId, [usd(1)]);
        return { ...job, apiKeyId, open: index % 2 === 0 };
      }),
    );
    const admitted = results.filter(({ result }) => result === 'reserved');
    const by = (id: string | undefined) => admitted.filter(({ apiKeyId }) => apiKeyId === id).length;
    expect(admitted).toHaveLength(40);
    expect(by(keys[0])).toBeLessThanOrEqual(10);
    expect(by(keys[1])).toBeLessThanOrEqual(25);
    await Promise.all(admitted.filter((job) => job.open).map(({ requestId }) => close(requestId, null)));
  });

  it('leaves neither reservation nor job when the connection dies between the statements of an admission', async () => {
    await give('USD', usd(10));
    const client = new pg.Client(database.url);
    client.on('error', () => undefined);
    await client.connect();
    const requestId = newRequestId('TST');
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at)
       VALUES ($1, $2, $3, 'chat', 'm', now())`,
      [requestId, account, key],
    );
    await client.query('SELECT ledger_reserve($1, $2, $3, $4, $5, NULL, NULL)', [requestId, account, key, 'm', usd(4)]);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
    expect(await free()).toMatchObject({ USD: usd(10) });
    await client.end().catch(() => undefined);
  });

  it('charges once when the connection dies between settling and closing, and the result is delivered again', async () => {
    await give('USD', usd(10));
    const job = await open(usd(4));
    const client = new pg.Client(database.url);
    client.on('error', () => undefined);
    await client.connect();
    await client.query('BEGIN');
    const lines = JSON.stringify([{ sku: 's', units: '1', unitPriceNano: '1', amountNano: String(usd(3)) }]);
    await client.query(`SELECT ledger_close($1, 1, 'settled', $2)`, [job.requestId, lines]);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
    await client.end().catch(() => undefined);
    expect(await close(job.requestId, [usd(3)])).toBe('settled');
    expect(await free()).toMatchObject({ USD: usd(7) });
  });
});

describe('key limits', () => {
  it('names the limit that binds', async () => {
    await ledger.setStake(account, usd(5));
    await give('USD', usd(10));
    const usdKey = await newKey({ usd: usd(2) });
    expect(await open(usd(8), { apiKeyId: usdKey })).toMatchObject({ result: 'key_usd_limit', grantableNano: usd(7) });
    const diemKey = await newKey({ diem: usd(2) });
    expect(await open(usd(3), { apiKeyId: diemKey })).toMatchObject({
      result: 'key_diem_limit',
      grantableNano: usd(2),
    });
    const noUsd = await newKey({ usd: 0n });
    const job = await open(usd(5), { apiKeyId: noUsd });
    expect(job.result).toBe('reserved');
    await close(job.requestId, [usd(5)]);
    expect(await open(1n, { apiKeyId: noUsd })).toMatchObject({ result: 'key_usd_limit' });
  });

  it.each([
    ['EPOCH', 'per UTC day', /resets at \d{4}-\d\d-\d\dT00:00:00\.000Z/],
    ['MONTH', 'per UTC month', /resets at \d{4}-\d\d-01T00:00:00\.000Z/],
    ['LIFETIME', 'in all', /does not reset/],
  ])('%s: a refusal says the limit, its use, the request and the reset', async (period, name, reset) => {
    await give('USD', usd(10));
    const limited = await newKey({ usd: usd(2), period });
    const job = { requestId: 'TST-refused', accountId: account, apiKeyId: limited, modelId: 'm' };
    const first = await open(usd(1.5), { apiKeyId: limited });
    await close(first.requestId, [usd(1)]);
    await open(usd(0.25), { apiKeyId: limited });
    const quote = new JobQuote(usd(3), { id: 1n, modelId: 'm', pricing: null }, noTokens);
    const [refusal] = await new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma)).admit(
      prisma,
      [{ job, quote }],
    );
    expect(refusal).toMatchObject({ code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED', grantableNano: usd(0.75) });
    expect(refusal?.message).toContain(`is 2.000000 USD ${name}, of which 1.250000 is spent or reserved.`);
    expect(refusal?.message).toContain('needs up to 3.000000.');
    expect(refusal?.message).toMatch(reset);
  });

  it('a refusal by the balance says what is there', async () => {
    await give('USD', usd(1));
    const job = { requestId: 'TST-poor', accountId: account, apiKeyId: key, modelId: 'm' };
    const quote = new JobQuote(usd(3), { id: 1n, modelId: 'm', pricing: null }, noTokens);
    const [refusal] = await new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma)).admit(
      prisma,
      [{ job, quote }],
    );
    expect(refusal?.message).toContain('needs up to 3.000000 USD or DIEM, and the balance has 1.000000.');
  });

  it.each([
    ['EPOCH', 'day_start = day_start - 1', 'reserved'],
    ['EPOCH', `month_start = (month_start - interval '1 month')::date`, 'key_usd_limit'],
    ['MONTH', 'day_start = day_start - 1', 'key_usd_limit'],
    ['MONTH', `month_start = (month_start - interval '1 month')::date`, 'reserved'],
    [
      'LIFETIME',
      `day_start = day_start - 400, month_start = (month_start - interval '13 months')::date`,
      'key_usd_limit',
    ],
  ])('%s: after %s the next is %s', async (period, change, result) => {
    await give('USD', usd(10));
    const apiKeyId = await newKey({ usd: usd(2), period });
    const first = await open(usd(2), { apiKeyId });
    await close(first.requestId, [usd(1.5)]);
    await pool.query(`UPDATE key_spend SET ${change} WHERE api_key_id = $1`, [apiKeyId]);
    const second = await open(usd(1), { apiKeyId });
    expect(second.result).toBe(result);
    if (result === 'reserved') await close(second.requestId, null);
  });

  it('a charge that began before midnight does not reset the day of a key', async () => {
    await give('USD', usd(10));
    const apiKeyId = await newKey({ usd: usd(5) });
    const first = await open(usd(2), { apiKeyId });
    const late = await open(usd(2), { apiKeyId });
    await close(first.requestId, [usd(2)]);
    // As the charge of the new day leaves them for a transaction of the day before.
    await pool.query(`UPDATE key_spend SET day_start = day_start + 1 WHERE api_key_id = $1`, [apiKeyId]);
    await pool.query(`UPDATE balances SET diem_epoch = diem_epoch + 1 WHERE account_id = $1`, [account]);
    await close(late.requestId, [usd(1)]);
    const { rows } = await pool.query<{ spent: string; ahead: number }>(
      `SELECT day_usd_nano AS spent, day_start - ledger_today() AS ahead FROM key_spend WHERE api_key_id = $1`,
      [apiKeyId],
    );
    expect(rows).toEqual([{ spent: usd(3).toString(), ahead: 1 }]);
  });
});

describe('DIEM', () => {
  it('grants the allowance of the day, and expires the rest at its end', async () => {
    await ledger.setStake(account, usd(3));
    const job = await open(usd(1));
    await close(job.requestId, [usd(1)]);
    expect(await free()).toMatchObject({ DIEM: usd(2) });
    await yesterday();
    expect(await free()).toMatchObject({ DIEM: usd(3) });
    const next = await open(usd(3));
    expect(next.result).toBe('reserved');
    await close(next.requestId, null);
    expect(await free()).toMatchObject({ DIEM: usd(3) });
  });

  it('does not roll over what a reservation of yesterday refunds', async () => {
    await ledger.setStake(account, usd(3));
    const job = await open(usd(2));
    await yesterday();
    await close(job.requestId, [usd(0.5)]);
    expect(await free()).toMatchObject({ DIEM: usd(3) });
    expect(await charges(job.requestId)).toEqual([{ currency: 'DIEM', amount: -usd(0.5) }]);
  });

  it('grants nothing below a stake of 0.1', async () => {
    expect(await ledger.setStake(account, usd(0.1) - 1n)).toBe(0n);
    expect(await open(1n)).toMatchObject({ result: 'insufficient_balance' });
    expect(await ledger.setStake(account, usd(0.1))).toBe(usd(0.1));
    expect(await free()).toMatchObject({ DIEM: usd(0.1) });
  });

  it("changes today's allowance with the stake, but revokes nothing that is reserved or spent", async () => {
    await ledger.setStake(account, usd(5));
    const job = await open(usd(3));
    await ledger.setStake(account, usd(1));
    expect(await free()).toMatchObject({ DIEM: 0n });
    await close(job.requestId, [usd(3)]);
    await ledger.setStake(account, usd(2));
    expect(await free()).toMatchObject({ DIEM: usd(1) });
  });
});

describe('credits', () => {
  it('posts a reference once', async () => {
    const credit = { accountId: account, currency: 'USD' as const, amountNano: usd(5), reference: `r-${account}` };
    const posted = await Promise.all(Array.from({ length: 5 }, () => ledger.credit('top_up', credit)));
    expect(posted.filter(Boolean)).toHaveLength(1);
    expect(await free()).toMatchObject({ USD: usd(5) });
  });

  it('refuses a reference that another credit uses, and posts nothing', async () => {
    const credit = { accountId: account, currency: 'USD' as const, amountNano: usd(5), reference: `other-${account}` };
    expect(await ledger.hasCredit(credit.reference)).toBe(false);
    await ledger.credit('top_up', credit);
    expect(await ledger.hasCredit(credit.reference)).toBe(true);
    const first = account;
    account = randomUUID();
    await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'b')`, [account]);
    const refusal = { code: 'INVALID_REQUEST', param: 'reference' };
    await expect(ledger.credit('top_up', { ...credit, accountId: account })).rejects.toMatchObject(refusal);
    await expect(ledger.credit('grant', credit)).rejects.toMatchObject(refusal);
    await expect(ledger.credit('revoke', credit)).rejects.toMatchObject(refusal);
    await expect(ledger.credit('top_up', { ...credit, currency: 'BUNDLED' })).rejects.toMatchObject(refusal);
    await expect(ledger.credit('top_up', { ...credit, amountNano: usd(6) })).rejects.toMatchObject(refusal);
    expect(await free()).toMatchObject({ USD: 0n });
    expect(await ledger.credit('top_up', { ...credit, accountId: first.toUpperCase() })).toBe(false);
  });

  it('gives a reference to one of two concurrent accounts, and refuses the other', async () => {
    const accounts = [account, randomUUID()];
    await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'b')`, [accounts[1]]);
    for (let round = 0; round < 5; round++) {
      const credit = { currency: 'USD' as const, amountNano: usd(1), reference: `race-${round}-${account}` };
      const answers = await Promise.allSettled(
        accounts.map((accountId) => ledger.credit('grant', { ...credit, accountId })),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const refused = answers.find((answer) => answer.status === 'rejected');
      expect(refused?.reason).toMatchObject({ code: 'INVALID_REQUEST', param: 'reference' });
    }
  });

  it('revokes what is available and no more', async () => {
    await give('USD', usd(5));
    const job = await open(usd(2));
    const revoke = { accountId: account, currency: 'USD' as const, amountNano: usd(4) };
    await expect(ledger.credit('revoke', revoke)).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    await ledger.credit('revoke', { ...revoke, amountNano: usd(3) });
    expect(await free()).toMatchObject({ USD: 0n });
    await close(job.requestId, null);
  });

  it('refuses unknown accounts and amounts of zero', async () => {
    const credit = { accountId: 'nobody', currency: 'USD' as const, amountNano: 1n };
    await expect(ledger.credit('grant', credit)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(ledger.credit('grant', { ...credit, amountNano: 0n })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
  });
});

describe('the database', () => {
  it.each([
    'UPDATE ledger_entries SET amount_nano = amount_nano + 1',
    'DELETE FROM ledger_entries',
    'TRUNCATE ledger_entries',
    'DELETE FROM ledger_transactions',
    'DELETE FROM ledger_accounts',
    `UPDATE ledger_accounts SET currency = 'DIEM' WHERE currency = 'USD'`,
  ])('refuses: %s', async (statement) => {
    await give('USD', usd(1));
    await expect(pool.query(statement)).rejects.toThrow(/only appends/);
  });

  /** Posts entries of 5 and -5, or the given ones, in the account's currencies. */
  const post = (entries: string, transaction = 'posted.id') =>
    pool.query(`
      WITH posted AS (INSERT INTO ledger_transactions (kind, account_id) VALUES ('grant', '${account}') RETURNING id)
      INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano)
      SELECT ${transaction}, a.id, ${entries}
        FROM posted, ledger_accounts a, unnest('{5,-5}'::bigint[]) amount WHERE a.account_id = '${account}'`);

  it.each([
    ['does not sum to zero', 'a.currency, 5'],
    [
      'sums to zero over all currencies only',
      `a.currency, CASE a.currency WHEN 'USD' THEN 2 WHEN 'DIEM' THEN -1 ELSE -1 END`,
    ],
  ])('refuses a transaction that %s', async (_how, entries) => {
    await expect(post(entries)).rejects.toThrow(/sum to zero/);
  });

  it('refuses entries of a transaction, an account or a currency that does not exist', async () => {
    await expect(post('a.currency, amount', '-1::bigint')).rejects.toThrow(/names what is not there/);
    await expect(post(`'USD'::currency, amount`)).rejects.toThrow(/names what is not there/);
    await expect(
      pool.query(`INSERT INTO ledger_entries (transaction_id, ledger_account_id, currency, amount_nano)
                  SELECT max(t.id), -1, 'USD', amount FROM ledger_transactions t, unnest('{5,-5}'::bigint[]) amount
                   GROUP BY amount`),
    ).rejects.toThrow(/names what is not there/);
  });

  it('refuses a balance below what is reserved', async () => {
    await expect(pool.query('UPDATE balances SET usd_nano = -1 WHERE account_id = $1', [account])).rejects.toThrow(
      /balances_cover_holds/,
    );
  });
});

describe('verify', () => {
  it.each([
    ['wrongBalances', 'UPDATE balances SET usd_nano = usd_nano + 7 WHERE account_id = $1'],
    [
      'wrongKeySpend',
      `UPDATE key_spend SET lifetime_usd_nano = 7 WHERE api_key_id IN
                         (SELECT id FROM api_keys WHERE account_id = $1)`,
    ],
    ['openReservationsWithoutOpenJob', `UPDATE jobs SET state = 'failed', finished_at = now() WHERE account_id = $1`],
    ['openJobsWithoutOpenReservation', 'DELETE FROM holds WHERE account_id = $1'],
    ['wrongCharges', `UPDATE holds SET state = 'settled', charged_nano = 1, closed_at = now() WHERE account_id = $1`],
  ] as const)('finds %s', async (broken, statement) => {
    await give('USD', usd(5));
    const job = await open(usd(2));
    await expectInvariant({ databaseUrl: database.url });
    const client = await pool.connect();
    try {
      await client.query('CREATE TABLE kept AS SELECT * FROM holds WHERE account_id = $1', [account]);
      await client.query(statement, [account]);
      const { breaks } = await ledger.verify();
      expect(Number(breaks[broken])).toBeGreaterThan(0);
      await client.query('DELETE FROM holds WHERE account_id = $1', [account]);
      await client.query('INSERT INTO holds SELECT * FROM kept');
      await client.query('UPDATE balances SET usd_nano = $2 WHERE account_id = $1', [account, usd(5)]);
      await client.query('UPDATE key_spend SET lifetime_usd_nano = 0 WHERE api_key_id = $1', [key]);
      await client.query(
        `UPDATE jobs SET state = 'queued', finished_at = NULL WHERE account_id = $1 AND request_id = $2`,
        [account, job.requestId],
      );
    } finally {
      await client.query('DROP TABLE IF EXISTS kept');
      client.release();
    }
    await close(job.requestId, null);
  });
});

describe('prices', () => {
  it('keeps a dated row for each price a manifest had, and settles at the price of the admission', async () => {
    const manifest = (price: number) => JSON.stringify({ pricing: { input: { usd: price, diem: price } } });
    const write = (text: string) =>
      pool.query(
        `INSERT INTO models (id, type, manifest) VALUES ('priced', 'text', $1)
         ON CONFLICT (id) DO UPDATE SET manifest = excluded.manifest`,
        [text],
      );
    await write(manifest(1));
    await write(manifest(1));
    const first = await new PriceList(new PriceRepository(prisma)).current('priced');
    await write(manifest(2));
    const second = await new PriceList(new PriceRepository(prisma)).current('priced');
    expect(second).toMatchObject({ pricing: { input: { usd: 2 } } });
    expect(first).toMatchObject({ pricing: { input: { usd: 1 } } });
    const { rows } = await pool.query(`SELECT 1 FROM prices WHERE model_id = 'priced'`);
    expect(rows).toHaveLength(2);
    await expect(new PriceList(new PriceRepository(prisma)).current('nowhere')).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
  });
});

describe('any history', () => {
  it('keeps the invariant and accounts for every nano', async () => {
    const step = fc.record({
      reserve: fc.bigInt({ min: 0n, max: 3_000_000_000n }),
      first: fc.bigInt({ min: 0n, max: 2_000_000_000n }),
      second: fc.bigInt({ min: 0n, max: 2_000_000_000n }),
      how: fc.constantFrom('settle', 'release', 'tomorrow' as const),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        account = randomUUID();
        await pool.query(`INSERT INTO accounts (id, name) VALUES ($1, 'history')`, [account]);
        key = await newKey();
        await ledger.setStake(account, usd(1));
        await give('BUNDLED', usd(1));
        await give('USD', usd(3));
        let charged = 0n;
        for (const { reserve, first, second, how } of steps) {
          const job = await open(reserve);
          if (job.result !== 'reserved') continue;
          if (how === 'tomorrow') await yesterday();
          await close(job.requestId, how === 'release' ? null : [first, second]);
          const entries = await charges(job.requestId);
          const sum = -entries.reduce((total, { amount }) => total + amount, 0n);
          const used = first + second;
          expect(sum).toBe(how === 'release' ? 0n : used < reserve ? used : reserve);
          charged += sum;
        }
        const left = await free();
        expect(left.BUNDLED + left.USD).toBeGreaterThanOrEqual(usd(4) - charged);
        await expectInvariant({ databaseUrl: database.url });
      }),
      { numRuns: 15 },
    );
  });
});
