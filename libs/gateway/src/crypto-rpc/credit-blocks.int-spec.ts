import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import {
  createLedger,
  KeyUsageRepository,
  LedgerRepository,
  LedgerService,
  ReservationStep,
  SettlementStep,
} from '#billing';
import { findNetwork, type RpcNetwork } from '#chains';
import { nanosPerUsd, newRequestId } from '#common';
import {
  AdmissionService,
  DirectJobs,
  ExpireOverdueSweep,
  JobCloser,
  JobsRepository,
  PayloadCipher,
  ResultTickets,
} from '#jobs';
import { meterJob } from '#modalities';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createTransport, type QueueTransport } from '#queue';
import { CreditLimiter, PostgresLimitStore } from '#rate-limit';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { testDouble } from '#test/test-double';
import { type BlockDemand, CreditBlocks } from './credit-blocks.js';
import { RpcLimits } from './rpc-limits.js';

/* Blocks on the real ledger and the real windows; the minute of requests is not limited. */

const logger = createLogger('test', { level: 'silent' });
const priceNano = 700n;
const network = findNetwork('ethereum-mainnet') as RpcNetwork;

let database: TestDatabase;
let prisma: PrismaService;
let client: pg.Client;
let transport: QueueTransport;
let jobs: JobsRepository;
let closer: JobCloser;
let accounts: AccountsService;
let ledger: LedgerService;
let caller: Caller;
let blocks: CreditBlocks;
/** Of every replica of the test. */
const opened: CreditBlocks[] = [];
let dailyCredits: number;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  client = new pg.Client(database.url);
  await client.connect();
  accounts = new AccountsService(new AccountsRepository(prisma));
  ledger = createLedger(prisma);
  caller = await accounts.authenticate((await accounts.bootstrap())?.inferenceKey ?? '');
  transport = await createTransport({ url: database.url, namespace: 'blocks_test', clientName: 'api' });
  jobs = new JobsRepository(prisma);
  closer = new JobCloser(jobs, [new SettlementStep(new LedgerRepository(prisma), meterJob)]);
});
beforeEach(async () => {
  dailyCredits = 1_000_000;
  await client.query('DELETE FROM rate_limit_windows');
  blocks = openBlocks();
  await fund(nanosPerUsd);
});
afterEach(async () => {
  // Those of other replicas, too: what they charge a second later would be charged in the next test.
  await Promise.all(opened.splice(0).map((replica) => replica.onApplicationShutdown()));
  await expectInvariant({ databaseUrl: database.url });
});
afterAll(async () => {
  await transport.close();
  await prisma.$disconnect();
  await client.end();
  await database.drop();
});

function openBlocks(): CreditBlocks {
  const cipher = new PayloadCipher('5c'.repeat(32));
  const tickets = new ResultTickets('5c'.repeat(32));
  const steps = [new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma))];
  const admission = AdmissionService.of({ jobs, closer, cipher, tickets, transport, logger, queueLimit: 10, steps });
  const window = { lengthMs: 60_000, slotMs: 500 };
  const store = new PostgresLimitStore(prisma, window);
  const credits = new CreditLimiter(store, testDouble({ rateLimits: true }), testDouble({ count: () => undefined }));
  const unlimited = { headers: {}, refusal: null, tokens: 0, reservation: null };
  const limiter = {
    admitAhead: (_caller: unknown, _use: unknown, { requests }: { requests: number }) =>
      Promise.resolve({ decision: unlimited, requests, headers: () => ({}), settle: () => Promise.resolve() }),
  };
  const config = {
    get rpcDailyCredits() {
      return dailyCredits;
    },
    rpcConcurrent: 1,
    rpcCreditPriceUsd: '0.0000007',
    site: 'SLC',
  };
  const replica = new CreditBlocks(
    new DirectJobs(admission, closer, logger),
    new RpcLimits(testDouble(limiter), credits, testDouble(config)),
    testDouble(config),
    logger,
  );
  opened.push(replica);
  return replica;
}

/** Sets what the account can spend. */
async function fund(amountNano: bigint): Promise<void> {
  const { accountId } = caller;
  const account = { accountId, currency: 'USD' as const };
  const { usdNano } = await ledger.balance(accountId);
  if (usdNano > 0n) await ledger.credit('revoke', { ...account, amountNano: usdNano });
  if (amountNano > 0n) await ledger.credit('grant', { ...account, amountNano });
}

const demand = (credits = 20): BlockDemand => ({ requestId: newRequestId('SLC'), caller, network, credits });

async function use(credits = 20, used = credits): Promise<void> {
  const ticket = await blocks.take(demand(credits));
  ticket.settle(used);
}

async function spent(work: () => Promise<unknown>): Promise<bigint> {
  const before = await ledger.balance(caller.accountId);
  await work();
  await blocks.onApplicationShutdown();
  const after = await ledger.balance(caller.accountId);
  expect(after.heldNano).toBe(0n);
  return before.usdNano - after.usdNano;
}

const rows = async (): Promise<number> => Number((await client.query('SELECT count(*) FROM jobs')).rows[0].count);

describe('a block of credits', () => {
  it('charges exactly what its requests have cost, with few rows', async () => {
    const before = await rows();
    const charged = await spent(async () => {
      for (let round = 0; round < 60; round += 1) await use(20, round % 3 === 0 ? 5 : 20);
      await Promise.all(Array.from({ length: 60 }, () => use()));
    });
    expect(charged).toBe(priceNano * BigInt(20 * 5 + 40 * 20 + 60 * 20));
    expect((await rows()) - before).toBeLessThan(20);
  });

  it('costs nothing for requests that were not answered', async () => {
    expect(await spent(() => use(20, 0))).toBe(0n);
    const { rows: last } = await client.query('SELECT state FROM jobs ORDER BY created_at DESC LIMIT 1');
    expect(last).toEqual([{ state: 'cancelled' }]);
  });

  it('counts a ticket once, and none of those that come after the charge', async () => {
    const charged = await spent(async () => {
      const ticket = await blocks.take(demand());
      ticket.settle(20);
      ticket.settle(20);
      const late = await blocks.take(demand());
      await blocks.onApplicationShutdown();
      late.settle(20);
    });
    expect(charged).toBe(priceNano * 20n);
  });

  it('never reserves more than there is, and refuses what cannot be paid', async () => {
    await fund(priceNano * 100n);
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => use()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    const refused = results.find((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE' } });
    await blocks.onApplicationShutdown();
    expect((await ledger.balance(caller.accountId)).usdNano).toBe(0n);
  });

  it('lets no request exceed the credits of a day, and none go short that fits', async () => {
    dailyCredits = 200;
    for (let round = 0; round < 4; round += 1) await use(50, 5);
    await use(20);
    await use(150, 150);
    await expect(use(20)).rejects.toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED', message: expect.stringContaining('200 credits in 24 hours, of which 10') },
    });
    await use(10);
  });

  it('holds the spend limit of a key', async () => {
    const limit = priceNano * 90n;
    await client.query('UPDATE api_keys SET limit_usd_nano = $1 WHERE id = $2', [String(limit), caller.apiKeyId]);
    try {
      const { rows: spend } = await client.query(
        `SELECT COALESCE(sum(usd_nano), 0) AS used FROM key_daily_spend WHERE api_key_id = $1`,
        [caller.apiKeyId],
      );
      const limitNow = BigInt(spend[0].used) + limit;
      await client.query('UPDATE api_keys SET limit_usd_nano = $1 WHERE id = $2', [String(limitNow), caller.apiKeyId]);
      const charged = await spent(async () => {
        const results = await Promise.allSettled(Array.from({ length: 8 }, () => use()));
        const codes = results.map((result) => (result.status === 'rejected' ? result.reason.error.code : 'ok'));
        expect(codes.filter((code) => code === 'ok')).toHaveLength(4);
        expect(codes).toContain('API_KEY_USD_SPEND_LIMIT_EXCEEDED');
      });
      expect(charged).toBe(priceNano * 80n);
    } finally {
      await client.query('UPDATE api_keys SET limit_usd_nano = NULL WHERE id = $1', [caller.apiKeyId]);
    }
  });

  it('says what could be spent before each request', async () => {
    const before = (await ledger.balance(caller.accountId)).usdNano;
    await use();
    for (let round = 1; round < 6; round += 1) {
      const ticket = await blocks.take(demand());
      expect(ticket.quote.balanceBefore?.usdNano).toBeLessThanOrEqual(before - BigInt(round) * 20n * priceNano);
      ticket.settle(20);
    }
  });

  it('holds nothing when it is opened while the process ends', async () => {
    const ticket = blocks.take(demand());
    expect(await spent(() => Promise.resolve())).toBe(0n);
    (await ticket).settle(20);
  });

  it('comes back to the customer when its replica dies', async () => {
    const before = await ledger.balance(caller.accountId);
    const dead = openBlocks();
    // Blocks with running requests, of which one has an answered one, too.
    await dead.take(demand());
    const answered = await dead.take(demand());
    await dead.take(demand());
    answered.settle(20);
    expect((await ledger.balance(caller.accountId)).heldNano).toBeGreaterThan(0n);
    const { rows: open } = await client.query(`SELECT request_id FROM jobs WHERE state = 'queued'`);
    expect(open.length).toBeGreaterThan(0);
    const common = { jobs, closer, transport, logger, resultBacklog: async () => true, confirmMs: 0 };
    const expire = new ExpireOverdueSweep({ ...common, graceMs: 0 });
    // Again, because the block that was opened ahead may have its row later.
    await expect
      .poll(async () => {
        await client.query(`UPDATE jobs SET deadline_at = now() - interval '1 s' WHERE state = 'queued'`);
        await expire.run();
        await expire.run();
        return (await ledger.balance(caller.accountId)).heldNano;
      })
      .toBe(0n);
    const after = await ledger.balance(caller.accountId);
    // On a slow machine the answered request had a block of its own, which was charged before its process died.
    expect([before.usdNano, before.usdNano - 20n * priceNano]).toContain(after.usdNano);
  });
});
