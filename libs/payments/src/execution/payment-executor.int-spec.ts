import pg from 'pg';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService, WalletsRepository } from '#accounts';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { expectInvariant } from '#test/invariant';
import { ChainDouble, FacilitatorDouble, payloadOf, randomHex, type SettleBehavior } from '#test/payment-doubles';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { PaymentOffers } from '../offers.js';
import { TopUpService } from '../top-ups/top-up.service.js';
import { TopUpsRepository } from '../top-ups/top-ups.repository.js';
import { type ExecutionLimits, PaymentExecutor } from './payment-executor.js';
import { TopUpExecutionRepository } from './top-up-execution.repository.js';

const network = 'eip155:8453';
const payTo = '0x8617e340b3d01fa5f11f306f4090fd50e238070d';
const offers = new PaymentOffers({
  networks: [
    {
      kind: 'evm',
      network,
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      payTo,
      extra: { name: 'USD Coin', version: '2' },
      maxTimeoutSeconds: 300,
    },
  ],
  minUsd: 5,
  maxUsd: 10_000,
});
const limits: Partial<ExecutionLimits> = {
  callMs: 300,
  settleMs: 100,
  leaseMs: 400,
  unverifiedMs: 0,
  paceMs: [10, 10, 10],
};
const logger = createLogger('ops', { level: 'silent' });
const never = new AbortController().signal;

let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let topUps: TopUpsRepository;
let execution: TopUpExecutionRepository;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 12 });
  pool = new pg.Pool({ connectionString: database.url, max: 3 });
  topUps = new TopUpsRepository(prisma);
  const wallets = new WalletsRepository(prisma);
  execution = new TopUpExecutionRepository(prisma, wallets);
});
afterAll(async () => {
  await prisma.$disconnect();
  await pool.end();
  await database.drop();
});
afterEach(async () => {
  await expectInvariant({ databaseUrl: database.url });
  await pool.query(`UPDATE top_ups SET next_look_at = NULL`);
});

/** An api and any number of ops replicas on one chain. */
function scene(maxWaitMs = 20_000) {
  const chain = new ChainDouble();
  const facilitator = new FacilitatorDouble(chain);
  const results: string[] = [];
  const executorOf = (repository: TopUpExecutionRepository = execution, node = { facilitator, chain }) =>
    new PaymentExecutor({
      topUps: repository,
      nodes: new Map([[network, node as { facilitator: FacilitatorDouble; chain: ChainDouble }]]),
      logger,
      metrics: { ended: (_network, result) => results.push(result), unknown: () => undefined },
      limits,
    });
  const service = new TopUpService(offers, topUps, logger, { maxWaitMs });
  return { chain, facilitator, results, executorOf, service };
}

interface PaymentOptions {
  payer?: string;
  nonce?: string;
  value?: string;
  identifier?: string;
  signature?: string;
  validForSeconds?: number;
}

function paymentOf({ payer = randomHex(20), nonce = randomHex(32), value = '10000000', ...rest }: PaymentOptions = {}) {
  const validBefore = String(Math.floor(Date.now() / 1_000) + (rest.validForSeconds ?? 300));
  const payload = payloadOf({ payer, nonce, value, validBefore }, payTo);
  const signed = { ...payload, ...(rest.signature !== undefined && { signature: rest.signature }) };
  const extensions = rest.identifier && { 'payment-identifier': { info: { id: rest.identifier } } };
  const body = { x402Version: 2, accepted: offers.accepts[0], payload: signed, ...(extensions && { extensions }) };
  return { payer, header: Buffer.from(JSON.stringify(body)).toString('base64') };
}

/** Lets replicas work until `done` resolves. */
async function during<Result>(executors: PaymentExecutor[], done: Promise<Result>): Promise<Result> {
  let isDone = false;
  const work = executors.map(async (executor) => {
    while (!isDone) {
      await executor.begin(never);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await executor.idle();
  });
  try {
    return await done;
  } finally {
    isDone = true;
    await Promise.all(work);
  }
}

async function creditsOf(payer: string): Promise<string[]> {
  const { rows } = await pool.query<{ amount: string }>(
    `SELECT e.amount_nano AS amount FROM wallets w JOIN ledger_accounts a ON a.account_id = w.account_id AND a.currency = 'USD'
       JOIN ledger_entries e ON e.ledger_account_id = a.id WHERE w.address = $1 ORDER BY e.id`,
    [payer.toLowerCase()],
  );
  return rows.map(({ amount }) => amount);
}

const stateOf = async (payer: string): Promise<string> => {
  const { rows } = await pool.query<{ state: string }>('SELECT state FROM top_ups WHERE payer = $1', [
    payer.toLowerCase(),
  ]);
  return rows.map(({ state }) => state).join();
};

const bodyOf = ({ body }: { body: Buffer }) => JSON.parse(body.toString()) as Record<string, unknown>;

describe('a top-up', () => {
  it('is credited once for ten requests with one payment, which get equal responses', async () => {
    const { executorOf, service, chain } = scene();
    const { payer, header } = paymentOf();
    const requests = Array.from({ length: 10 }, () => service.submit(header, never));
    const answers = await during([executorOf(), executorOf(), executorOf()], Promise.all(requests));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.toString()}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 200, receipt: { success: true, network, payer } });
    expect(bodyOf(answers[0]!)).toMatchObject({
      success: true,
      data: { walletAddress: payer, amountCredited: 10, newBalance: 10 },
    });
    expect(await creditsOf(payer)).toEqual(['10000000000']);
    expect(chain.sent).toBe(1);
  });

  it('is credited for each of five payments of one wallet', async () => {
    const { executorOf, service } = scene();
    const payer = randomHex(20);
    const requests = Array.from({ length: 5 }, () => service.submit(paymentOf({ payer }).header, never));
    const answers = await during([executorOf(), executorOf()], Promise.all(requests));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ receipt }) => receipt?.transaction)).size).toBe(5);
    expect(await creditsOf(payer)).toHaveLength(5);
  });

  it.each<[SettleBehavior, number]>([
    ['settles', 1],
    ['answers-twice', 1],
    ['dies', 1],
    ['times-out', 1],
    ['pending', 1],
  ])('is credited once when the facilitator %s', async (behavior, settles) => {
    const isKnown = behavior === 'settles' || behavior === 'answers-twice' || behavior === 'dies';
    const { executorOf, service, facilitator, chain } = scene(isKnown ? 20_000 : 400);
    facilitator.behavior = behavior;
    const { payer, header } = paymentOf();
    const executor = executorOf();
    const first = await during([executor], service.submit(header, never));
    expect(first.status).toBe(isKnown ? 200 : 202);
    if (!isKnown) {
      await expect.poll(() => stateOf(payer)).toBe('pending');
      expect(bodyOf(first)).toMatchObject({ success: false, status: 'settlement_pending' });
      expect(bodyOf(first)).not.toHaveProperty('accepts');
      expect(await creditsOf(payer)).toEqual([]);
      chain.mine();
    }
    const again = await during([executor], service.submit(header, never));
    expect(again.status).toBe(200);
    expect(await creditsOf(payer)).toEqual(['10000000000']);
    expect(facilitator.settled).toBe(settles);
  });

  it('is credited when its client leaves at once', async () => {
    const { executorOf, service } = scene();
    const { payer, header } = paymentOf();
    const left = new AbortController();
    left.abort();
    expect((await service.submit(header, left.signal)).status).toBe(202);
    await during([executorOf()], expect.poll(() => creditsOf(payer)).toEqual(['10000000000']));
  });

  it('is not credited on the word of a facilitator, and expires when the chain says so', async () => {
    const { executorOf, service, facilitator, chain, results } = scene(200);
    facilitator.behavior = 'lies';
    const { payer, header } = paymentOf();
    const executor = executorOf();
    expect((await during([executor], service.submit(header, never))).status).toBe(202);
    chain.aheadMs = 400_000;
    const answer = await during([executor], service.submit(header, never));
    expect(answer).toMatchObject({ status: 400, receipt: { success: false, errorReason: 'payment_expired' } });
    expect(bodyOf(answer).error).toBe('PAYMENT_SETTLEMENT_FAILED');
    expect([await stateOf(payer), await creditsOf(payer), results]).toEqual(['expired', [], ['expired']]);
  });

  it('is credited to its payer when another sender submits the authorization first', async () => {
    const { executorOf, service, facilitator, chain } = scene();
    facilitator.verification = 'invalid';
    const { payer, header } = paymentOf();
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: Record<string, unknown> };
    chain.send({ terms: offers.offers[0]!.terms, amount: 10_000_000n, payload });
    expect((await during([executorOf()], service.submit(header, never))).status).toBe(200);
    expect(await creditsOf(payer)).toEqual(['10000000000']);
  });

  it('fails for a refused payment, and is credited after all when the chain shows it before it ends', async () => {
    const { executorOf, service, facilitator, chain } = scene();
    facilitator.behavior = 'refuses';
    const { payer, header } = paymentOf();
    const executor = executorOf();
    const answer = await during([executor], service.submit(header, never));
    expect(answer).toMatchObject({ status: 400, receipt: { errorReason: 'insufficient_funds' } });
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: Record<string, unknown> };
    chain.send({ terms: offers.offers[0]!.terms, amount: 10_000_000n, payload });
    await pool.query("UPDATE top_ups SET next_look_at = now() - interval '1 ms' WHERE payer = $1", [payer]);
    await during([executor], expect.poll(() => creditsOf(payer)).toEqual(['10000000000']));
    expect((await service.submit(header, never)).status).toBe(200);
  });

  it('fails without a new offer when the authorization is cancelled', async () => {
    const { executorOf, service, facilitator, chain } = scene(100);
    facilitator.behavior = 'dies-first';
    const { payer, header } = paymentOf();
    const executor = executorOf();
    expect((await during([executor], service.submit(header, never))).status).toBe(202);
    const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: Record<string, unknown> };
    chain.cancel({ terms: offers.offers[0]!.terms, amount: 1n, payload });
    const answer = await during([executor], service.submit(header, never));
    expect(answer).toMatchObject({ status: 400, receipt: { errorReason: 'payment_void' } });
    expect(await creditsOf(payer)).toEqual([]);
  });

  it('gives 502 when the facilitator answers nonsense, and nothing is sent', async () => {
    const { executorOf, service, facilitator, chain } = scene();
    facilitator.verification = 'nonsense';
    const { payer, header } = paymentOf();
    const answer = await during([executorOf()], service.submit(header, never));
    expect([answer.status, bodyOf(answer).error, chain.sent]).toEqual([502, 'PAYMENT_FACILITATOR_FAILED', 0]);
    expect(await stateOf(payer)).toBe('failed');
  });

  it('stays pending while the node of the chain does not answer', async () => {
    const { executorOf, service, chain } = scene(200);
    chain.isReachable = false;
    const { payer, header } = paymentOf();
    const executor = executorOf();
    expect((await during([executor], service.submit(header, never))).status).toBe(202);
    expect(await stateOf(payer)).toBe('pending');
    chain.isReachable = true;
    expect((await during([executor], service.submit(header, never))).status).toBe(200);
  });

  it('is taken back when its block leaves the chain, and credited again with the next', async () => {
    const { executorOf, service, chain, results } = scene();
    const { payer, header } = paymentOf();
    const executor = executorOf();
    await during([executor], service.submit(header, never));
    chain.reorganize();
    await pool.query("UPDATE top_ups SET next_look_at = now() - interval '1 ms' WHERE payer = $1", [payer]);
    await during([executor], expect.poll(() => creditsOf(payer)).toEqual(['10000000000', '-10000000000']));
    await expectInvariant({ databaseUrl: database.url });
    chain.mine();
    await during([executor], expect.poll(() => creditsOf(payer)).toHaveLength(3));
    expect([await stateOf(payer), results]).toEqual(['settled', ['settled', 'reversed', 'settled']]);
  });

  it('is taken back as far as it is not spent', async () => {
    const { executorOf, service, chain } = scene();
    const { payer, header } = paymentOf();
    const executor = executorOf();
    await during([executor], service.submit(header, never));
    await pool.query(
      `SELECT ledger_credit('revoke', account_id, 'USD', 4000000000, NULL, 'spent') FROM wallets WHERE address = $1`,
      [payer],
    );
    chain.reorganize();
    await pool.query("UPDATE top_ups SET next_look_at = now() - interval '1 ms' WHERE payer = $1", [payer]);
    await during([executor], expect.poll(() => creditsOf(payer)).toHaveLength(3));
    chain.mine();
    await during([executor], expect.poll(() => creditsOf(payer)).toHaveLength(4));
    expect(await creditsOf(payer)).toEqual(['10000000000', '-4000000000', '-6000000000', '6000000000']);
  });
});

describe('a process that dies', () => {
  /** Calls that never return from the given one on, as of a process that was killed before or after it. */
  function mortal<Target extends object>(target: Target, life: { calls: number; after: boolean }): Target {
    return new Proxy(target, {
      get(object, name) {
        const member = Reflect.get(object, name) as unknown;
        if (typeof member !== 'function') return member;
        return async (...values: unknown[]) => {
          // Renewals are no step of a payment, and end with the process.
          if (name === 'renew') return life.calls > 0 ? (member as () => unknown).apply(object, values as []) : null;
          life.calls -= 1;
          const isLast = life.calls === 0;
          if (life.calls < 0 || (isLast && !life.after)) return new Promise(() => undefined);
          const result: unknown = await (member as (...all: unknown[]) => unknown).apply(object, values);
          return isLast ? new Promise(() => undefined) : result;
        };
      },
    });
  }

  const steps = ['claim', 'verify', 'begin settling', 'settle', 'end settling', 'look up', 'credit'];
  const kills = steps.flatMap((step, index) => [
    { step: `before ${step}`, calls: index + 1, after: false },
    { step: `after ${step}`, calls: index + 1, after: true },
  ]);

  it.each(kills)('ops, $step: the payment is credited once', async ({ calls, after }) => {
    const { executorOf, service, facilitator, chain } = scene();
    const { payer, header } = paymentOf();
    const life = { calls, after };
    const dying = executorOf(mortal(execution, life), {
      facilitator: mortal(facilitator, life),
      chain: mortal(chain, life),
    });
    const request = service.submit(header, never);
    await expect.poll(() => stateOf(payer)).not.toBe('');
    void dying.begin(never);
    await expect.poll(() => life.calls).toBeLessThanOrEqual(0);
    expect((await during([executorOf()], request)).status).toBe(200);
    expect(await creditsOf(payer)).toEqual(['10000000000']);
    expect(chain.sent).toBeLessThanOrEqual(2);
  });

  it('is the api, after the row: the next request gets the response', async () => {
    const { executorOf, service } = scene();
    const { payer, header } = paymentOf();
    const dying = new TopUpService(offers, mortal(topUps, { calls: 2, after: true }), logger);
    void dying.submit(header, never);
    await expect.poll(() => stateOf(payer)).toBe('authorized');
    expect((await during([executorOf()], service.submit(header, never))).status).toBe(200);
    expect(await creditsOf(payer)).toEqual(['10000000000']);
  });

  it('or the database, that refuses a write once: the payment is credited once', async () => {
    const { executorOf, service, chain } = scene();
    const { payer, header } = paymentOf();
    let refusals = 1;
    const failing = new Proxy(execution, {
      get(object, name) {
        const member = Reflect.get(object, name) as (...values: unknown[]) => unknown;
        if (name !== 'settle') return member.bind(object);
        return async (...values: unknown[]) => {
          if (refusals-- > 0) throw new Error('the database refused');
          return member.apply(object, values);
        };
      },
    });
    expect((await during([executorOf(failing)], service.submit(header, never))).status).toBe(200);
    expect([await creditsOf(payer), chain.sent]).toEqual([['10000000000'], 1]);
  });
});

describe('a payment identifier', () => {
  const identifier = 'order-0123456789abcdef';

  it('gives no other wallet anything of the first response', async () => {
    const { executorOf, service } = scene();
    const [one, other] = [paymentOf({ identifier }), paymentOf({ identifier, value: '7000000' })];
    const answers = await during(
      [executorOf()],
      Promise.all([service.submit(one.header, never), service.submit(other.header, never)]),
    );
    expect(answers.map(bodyOf)).toMatchObject([
      { data: { walletAddress: one.payer, amountCredited: 10 } },
      { data: { walletAddress: other.payer, amountCredited: 7 } },
    ]);
  });

  /** A payment with a real signature, since that is what gives a response to a repeat. */
  async function signedBy(account: PrivateKeyAccount, value: string): Promise<string> {
    const seconds = Math.floor(Date.now() / 1_000) + 300;
    const nonce = randomHex(32) as `0x${string}`;
    const payload = payloadOf({ payer: account.address, nonce, value, validBefore: String(seconds) }, payTo);
    const signature = await account.signTypedData({
      domain: {
        name: 'USD Coin',
        version: '2',
        chainId: 8453,
        verifyingContract: offers.accepts[0]!.asset as `0x${string}`,
      },
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message: {
        from: account.address,
        to: payTo,
        value: BigInt(value),
        validAfter: 0n,
        validBefore: BigInt(seconds),
        nonce,
      },
    });
    const extensions = { 'payment-identifier': { info: { id: identifier } } };
    const body = { x402Version: 2, accepted: offers.accepts[0], payload: { ...payload, signature }, extensions };
    return Buffer.from(JSON.stringify(body)).toString('base64');
  }

  it('gives its wallet the bytes of the first response for another signature, and executes it once', async () => {
    const { executorOf, service, chain } = scene();
    const account = privateKeyToAccount(randomHex(32) as `0x${string}`);
    const executor = executorOf();
    const first = await during([executor], service.submit(await signedBy(account, '10000000'), never));
    const second = await during([executor], service.submit(await signedBy(account, '10000000'), never));
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.equals(first.body)).toBe(true);
    const other = await during([executor], service.submit(await signedBy(account, '9000000'), never));
    expect([other.status, bodyOf(other).error]).toEqual([409, 'PAYMENT_IDENTIFIER_IN_USE']);
    expect([await creditsOf(account.address), chain.sent]).toEqual([['10000000000'], 1]);
  });

  it('gives nothing to a payment that its wallet did not sign', async () => {
    const { executorOf, service } = scene();
    const { payer, header } = paymentOf({ identifier });
    await during([executorOf()], service.submit(header, never));
    const forged = paymentOf({ payer, identifier });
    await expect(service.submit(forged.header, never)).rejects.toMatchObject({ code: 'X402_INVALID_PAYMENT' });
    expect(await creditsOf(payer)).toHaveLength(1);
  });
});

describe('an erased account', () => {
  it('keeps nothing of its payer, and its payment is not credited again', async () => {
    const { executorOf, service } = scene();
    const { payer, header } = paymentOf();
    await during([executorOf()], service.submit(header, never));
    const { rows } = await pool.query<{ account: string }>(
      'SELECT account_id::text AS account FROM wallets WHERE address = $1',
      [payer],
    );
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const account = rows[0]?.account ?? '';
    await pool.query("UPDATE top_ups SET state = 'pending' WHERE payer = $1", [payer]);
    await expect(accounts.deleteAccount(account)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await pool.query("UPDATE top_ups SET state = 'settled' WHERE payer = $1", [payer]);
    await accounts.deleteAccount(account);
    const left = await pool.query('SELECT to_jsonb(t)::text AS row FROM top_ups t WHERE account_id = $1', [account]);
    expect(JSON.stringify(left.rows)).not.toContain(payer.slice(2));
    const again = await during([executorOf()], service.submit(header, never));
    expect([again.status, bodyOf(again).error]).toEqual([400, 'X402_INVALID_PAYMENT']);
  });
});

describe('what is old', () => {
  it('leaves: the response of a credited payment after a day, payments without a credit after 30 days', async () => {
    const { executorOf, service, facilitator } = scene();
    const executor = executorOf();
    const credited = paymentOf();
    await during([executor], service.submit(credited.header, never));
    facilitator.verification = 'invalid';
    const refused = paymentOf();
    await during([executor], service.submit(refused.header, never));
    await pool.query(
      `UPDATE top_ups SET next_look_at = NULL, ended_at = ended_at - interval '25 hours',
                             created_at = created_at - interval '31 days' WHERE payer = ANY ($1)`,
      [[credited.payer, refused.payer]],
    );
    await execution.clean(100);
    expect([await stateOf(credited.payer), await stateOf(refused.payer)]).toEqual(['settled', '']);
    const again = await service.submit(credited.header, never);
    expect([again.status, bodyOf(again).details]).toEqual([400, { reason: 'nonce_already_used' }]);
    expect(await creditsOf(credited.payer)).toHaveLength(1);
  });
});
