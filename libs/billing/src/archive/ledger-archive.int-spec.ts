import { randomUUID } from 'node:crypto';
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Currency, newRequestId, noTokens } from '#common';
import { PrismaService } from '#platform/prisma';
import { foldUsage } from '#test/fold-usage';
import { insertCustomer, type RowCustomer } from '#test/finished-requests';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { JobQuote } from '../job-quote.js';
import { LedgerRepository } from '../ledger.repository.js';
import { createLedger } from '../create-ledger.js';
import { LedgerService } from '../ledger.service.js';
import { LedgerArchiveRepository } from './ledger-archive.repository.js';
import { LedgerArchiver } from './ledger-archiver.js';

let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let ledger: LedgerService;
let folder: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 10 });
  pool = new pg.Pool({ connectionString: database.url, max: 5 });
  ledger = createLedger(prisma);
});
afterAll(async () => {
  await prisma.$disconnect();
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-archive-'));
});
afterEach(async () => {
  await expectInvariant({ databaseUrl: database.url });
  await rm(folder, { recursive: true });
});

/** Admits a job and reserves, or refuses; resolves to its id. */
async function open({ account, key }: RowCustomer, amountNano: bigint): Promise<string | null> {
  const requestId = newRequestId('TST');
  return await prisma
    .$prepared(async (transaction) => {
      await transaction.$executeRaw`
        INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at)
        VALUES (${requestId}, ${account}::uuid, ${key}::uuid, 'chat', 'm', now())`;
      const job = { requestId, accountId: account, apiKeyId: key, modelId: 'm' };
      const quote = new JobQuote(amountNano, { id: 1n, modelId: 'm', pricing: null }, noTokens);
      const [reserved] = await new LedgerRepository(prisma).reserve([{ job, quote }], transaction);
      if (reserved?.result !== 'reserved') throw new Error('refused');
      return requestId;
    })
    .catch((error: unknown) => {
      if (error instanceof Error && error.message === 'refused') return null;
      throw error;
    });
}

async function close(requestId: string, { account }: RowCustomer, amountNano: bigint | null): Promise<string> {
  return await prisma.$prepared(async (transaction) => {
    const lines = amountNano === null ? null : [{ sku: 's', units: '0.5', unitPriceNano: 1n, amountNano }];
    const [closed] = await new LedgerRepository(prisma).close(
      [{ requestId, accountId: account, attempt: 1, lines }],
      transaction,
    );
    await transaction.$executeRaw`
      UPDATE jobs SET state = 'succeeded', finished_at = now() WHERE request_id = ${requestId} AND state = 'queued'`;
    return closed?.result ?? 'missing';
  });
}

/** Moves everything that was posted and closed into the past: nothing of the product changes a posted row. */
async function age(months: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`SET session_replication_role = replica`);
    const by = `make_interval(months => ${months})`;
    await client.query(`UPDATE ledger_transactions SET created_at = created_at - ${by}`);
    await client.query(`UPDATE ledger_entries SET created_at = created_at - ${by}`);
    await client.query(`UPDATE jobs SET finished_at = finished_at - ${by} WHERE finished_at IS NOT NULL`);
  } finally {
    await client.query(`SET session_replication_role = DEFAULT`);
    client.release();
  }
}

/** The begin of a month, this one or some before it. */
function monthAgo(months: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 7);
}

const archiver = () => new LedgerArchiver(new LedgerArchiveRepository(prisma));
const archive = async (months = 0, to = folder) => {
  await foldUsage(pool);
  return archiver().archive({ month: monthAgo(months), folder: to });
};
const retire = async () => {
  await foldUsage(pool);
  await pool.query(`SELECT jobs_delete_closed('1 day', '1 day', 1000)`);
};

async function balances(): Promise<unknown> {
  return (await pool.query('SELECT * FROM balances ORDER BY account_id')).rows;
}

async function spend(): Promise<unknown> {
  return (await pool.query('SELECT * FROM key_spend ORDER BY api_key_id')).rows;
}

const usd = (amount: number): bigint => BigInt(amount) * 1_000_000_000n;

/** An account with a credit, and charges of one USD each that are old. */
async function oldCharges(count: number): Promise<RowCustomer> {
  const customer = await insertCustomer(pool);
  await ledger.credit('top_up', { accountId: customer.account, currency: 'USD', amountNano: usd(100) });
  for (let charge = 0; charge < count; charge += 1) {
    const requestId = (await open(customer, usd(2))) ?? '';
    await close(requestId, customer, usd(1));
  }
  await age(2);
  return customer;
}

describe('the archive of a ledger', () => {
  it('takes old transactions, and leaves a closing balance with which everything verifies', async () => {
    const customer = await oldCharges(5);
    const before = { balances: await balances(), spend: await spend(), figures: (await ledger.verify()).figures };
    const { path, transactions, sha256 } = await archive();
    expect(transactions).toBeGreaterThanOrEqual(6n);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await balances()).toEqual(before.balances);
    expect(await spend()).toEqual(before.spend);
    const { figures } = await ledger.verify();
    expect(figures.chargedNano).toBe(before.figures.chargedNano);
    expect(figures.archivedTransactions).toBe(before.figures.archivedTransactions + Number(transactions));
    const lines = (await readFile(path ?? '', 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    const charges = lines.filter((line) => (line as { accountId: string }).accountId === customer.account);
    expect(charges).toContainEqual(
      expect.objectContaining({
        kind: 'charge',
        apiKeyId: customer.key,
        entries: expect.arrayContaining([
          expect.objectContaining({ owner: customer.account, amountNano: '-1000000000', sku: 's', currency: 'USD' }),
          expect.objectContaining({ owner: 'revenue', amountNano: '1000000000' }),
        ]),
      }),
    );
    const kinds = await pool.query('SELECT kind FROM ledger_transactions WHERE account_id = $1', [customer.account]);
    expect(kinds.rows).toEqual([{ kind: 'closing' }]);
  });

  it('takes closing balances of earlier archives into the next one', async () => {
    const customer = await oldCharges(2);
    await archive(0, join(folder, 'first'));
    await close((await open(customer, usd(2))) ?? '', customer, usd(1));
    await age(2);
    await archive(0, join(folder, 'second'));
    const { rows } = await pool.query(`SELECT kind FROM ledger_transactions WHERE account_id = $1`, [customer.account]);
    expect(rows).toEqual([{ kind: 'closing' }]);
    expect((await ledger.balance(customer.account)).usdNano).toBe(usd(97));
  });

  it('keeps credits with a reference, so that none is posted twice', async () => {
    const { account } = await insertCustomer(pool);
    const credit = {
      accountId: account,
      currency: 'USD',
      amountNano: usd(5),
      reference: `invoice-${account}`,
    } as const;
    expect(await ledger.credit('top_up', credit)).toBe(true);
    await age(2);
    await archive();
    expect(await ledger.credit('top_up', credit)).toBe(false);
    expect((await ledger.balance(account)).usdNano).toBe(usd(5));
  });

  it('charges no request again whose charge is archived', async () => {
    const customer = await insertCustomer(pool);
    await ledger.credit('grant', { accountId: customer.account, currency: 'USD', amountNano: usd(5) });
    const requestId = (await open(customer, usd(2))) ?? '';
    await close(requestId, customer, usd(1));
    await age(2);
    await archive();
    expect(await close(requestId, customer, usd(1))).toBe('missing');
    expect((await ledger.balance(customer.account)).usdNano).toBe(usd(4));
  });

  it('is verified after reservations were deleted, before and after the charges are archived', async () => {
    await oldCharges(4);
    await retire();
    await expectInvariant({ databaseUrl: database.url });
    await archive();
    await expectInvariant({ databaseUrl: database.url });
    await retire();
  });

  it('waits until usage is in the sums of reports, which then show what was archived', async () => {
    const customer = await oldCharges(3);
    // As after an upgrade: nothing of this database is folded.
    await pool.query('TRUNCATE usage_charges, usage_requests');
    await pool.query(`UPDATE usage_folded SET through = '-infinity'`);
    const charged = async () => {
      const { rows } = await pool.query<{ sku: string; nano: string }>(
        `SELECT sku, sum(amount_nano)::text AS nano FROM usage_charge_lines($1, '-infinity', 'infinity') GROUP BY sku`,
        [customer.account],
      );
      return rows;
    };
    const before = await charged();
    expect(before).toEqual([{ sku: 's', nano: String(usd(3)) }]);
    await expect(archiver().archive({ month: monthAgo(0), folder })).rejects.toThrow('summed up no usage yet');
    await pool.query('UPDATE usage_folded SET through = $1', [`${monthAgo(3)}-01T00:00:00Z`]);
    await expect(archiver().archive({ month: monthAgo(0), folder })).rejects.toThrow(
      `usage up to ${monthAgo(3)}-01T00:00:00`,
    );
    expect(await readdir(folder)).toEqual([]);
    await pool.query(`UPDATE usage_folded SET through = '-infinity'`);
    await archive();
    expect(await charged()).toEqual(before);
  });

  it('deletes nothing in the database before usage is in the sums, whoever asks', async () => {
    await oldCharges(1);
    const repository = new LedgerArchiveRepository(prisma);
    const [line] = await repository.read({ before: new Date(), afterId: 0n, max: 1 });
    const { rows } = await pool.query<{ id: string }>(
      `INSERT INTO ledger_archives (before, file, sha256, transactions, entries, last_id)
       VALUES (now(), 'f', repeat('a', 64), 1, 1, $1) RETURNING id`,
      [line?.id],
    );
    const id = BigInt(rows[0]?.id ?? 0);
    await pool.query(`UPDATE usage_folded SET through = '-infinity'`);
    await expect(repository.replace(id, [line?.id ?? 0n])).rejects.toThrow('is not summed up yet');
    await pool.query('DELETE FROM ledger_archives WHERE id = $1', [id]);
    await archive();
  });

  it('takes no month that has not ended, and no name that is none', async () => {
    await oldCharges(1);
    await expect(archive(-1)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await expect(archiver().archive({ month: '2026-13', folder })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await readdir(folder)).toEqual([]);
    await archive();
  });

  it('goes on where it was interrupted, from the unchanged file alone', async () => {
    await oldCharges(3);
    const repository = new LedgerArchiveRepository(prisma);
    const interrupted = new LedgerArchiver(
      Object.assign(Object.create(repository) as LedgerArchiveRepository, {
        replace: (id: bigint, ids: bigint[]) =>
          repository.replace(id, ids.slice(0, 2)).then(() => Promise.reject(new Error('killed'))),
      }),
    );
    await expect(interrupted.archive({ month: monthAgo(0), folder })).rejects.toThrow('killed');
    await expectInvariant({ databaseUrl: database.url });
    await expect(archive(0, join(folder, 'elsewhere'))).rejects.toThrow(/An archive is unfinished/);
    await expect(archive(1)).rejects.toThrow(/An archive is unfinished/);
    expect((await archive()).transactions).toBeGreaterThan(2n);
    const { rows } = await pool.query('SELECT 1 FROM ledger_archives WHERE finished_at IS NULL');
    expect(rows).toEqual([]);
  });

  it('deletes nothing whose file was changed, and reports it', async () => {
    await oldCharges(1);
    const { path } = await archive();
    const faults = () =>
      archiver()
        .check(folder)
        .then((found) => found.filter(({ file }) => path?.endsWith(file)));
    expect(await faults()).toEqual([]);
    await appendFile(path ?? '', '\n');
    expect(await faults()).toContainEqual({ file: expect.any(String), fault: 'was changed' });
    await rm(path ?? '');
    expect(await faults()).toContainEqual({ file: expect.any(String), fault: 'is missing' });
  });

  it.each([
    ['DELETE FROM ledger_entries'],
    [`SELECT set_config('sluice.ledger_archive', '1', false)`, 'DELETE FROM ledger_transactions'],
    ['SELECT ledger_archive_transactions(1, ARRAY[1]::bigint[])'],
  ])('lets nobody delete without an open archive: %s', async (...statements) => {
    await oldCharges(1);
    await archive();
    const client = await pool.connect();
    try {
      for (const statement of statements.slice(0, -1)) await client.query(statement);
      await expect(client.query(statements.at(-1) ?? '')).rejects.toThrow(/only appends|no open archive/);
    } finally {
      client.release(true);
    }
  });

  it.each([
    ['wrongClosings', 'UPDATE archived_sums SET amount_nano = amount_nano + 1'],
    ['wrongRetiredCharges', 'UPDATE retired_holds SET charged_nano = charged_nano + 1'],
    ['wrongKeySpend', 'UPDATE archived_key_charges SET usd_nano = usd_nano + 1'],
  ] as const)('is found broken by %s', async (broken, statement) => {
    await oldCharges(1);
    await retire();
    await archive();
    const table = statement.split(' ')[1] ?? '';
    await pool.query(`CREATE TABLE kept AS SELECT * FROM ${table}`);
    await pool.query(statement);
    expect(Number((await ledger.verify()).breaks[broken])).toBeGreaterThan(0);
    await pool.query(`TRUNCATE ${table}`);
    await pool.query(`INSERT INTO ${table} SELECT * FROM kept`);
    await pool.query('DROP TABLE kept');
  });
});

type Step =
  | { do: 'credit'; currency: Currency; dollars: number; named: boolean }
  | { do: 'open'; dollars: number }
  | { do: 'close'; share: number | null }
  | { do: 'age'; months: number }
  | { do: 'archive'; months: number }
  | { do: 'retire' };

const currency = fc.constantFrom<Currency>('DIEM', 'BUNDLED', 'USD');
const steps = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('credit' as const),
        currency,
        dollars: fc.integer({ min: 1, max: 9 }),
        named: fc.boolean(),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('open' as const), dollars: fc.integer({ min: 0, max: 4 }) }) },
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('close' as const), share: fc.option(fc.integer({ min: 0, max: 100 })) }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('age' as const), months: fc.integer({ min: 1, max: 2 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('archive' as const), months: fc.integer({ min: 0, max: 2 }) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('retire' as const) }) },
  ) as fc.Arbitrary<Step>,
  { minLength: 10, maxLength: 40 },
);

describe('random traffic', () => {
  it('has the same balances and the same proof, wherever it is archived and its jobs are deleted', async () => {
    const customers = [await insertCustomer(pool), await insertCustomer(pool)];
    const opened: { requestId: string; customer: RowCustomer; reserved: bigint }[] = [];
    let archives = 0;
    const run = async (step: Step, position: number): Promise<void> => {
      const customer = customers[position % 2] ?? expect.fail('no customer');
      if (step.do === 'credit') {
        const reference = step.named ? randomUUID() : undefined;
        const amountNano = usd(step.dollars);
        await ledger.credit('grant', { accountId: customer.account, currency: step.currency, amountNano, reference });
      } else if (step.do === 'open') {
        const requestId = await open(customer, usd(step.dollars));
        if (requestId !== null) opened.push({ requestId, customer, reserved: usd(step.dollars) });
      } else if (step.do === 'close') {
        const job = opened.shift();
        if (job === undefined) return;
        const amount = step.share === null ? null : (job.reserved * BigInt(step.share)) / 100n;
        await close(job.requestId, job.customer, amount);
      } else if (step.do === 'age') {
        await age(step.months);
      } else {
        const before = { balances: await balances(), spend: await spend(), charged: await charged() };
        if (step.do === 'retire') await retire();
        else await archive(step.months, join(folder, String((archives += 1))));
        expect({ balances: await balances(), spend: await spend(), charged: await charged() }).toEqual(before);
      }
      await expectInvariant({ databaseUrl: database.url });
    };
    const charged = async () => (await ledger.verify()).figures.chargedNano;
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        for (const [position, step] of list.entries()) await run(step, position);
        for (const { requestId, customer } of opened.splice(0)) await close(requestId, customer, null);
      }),
      { numRuns: 12 },
    );
  });
});
