import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import {
  createLedger,
  type JobQuote,
  KeyUsageRepository,
  LedgerRepository,
  LedgerService,
  MoneyMetrics,
  PriceList,
  PriceRepository,
  ReservationStep,
  SettlementStep,
} from '#billing';
import { displayNanos, nanosPerUsd, newRequestId, type TokenUsage } from '#common';
import { admitAffordable } from '#gateway';
import { AdmissionService, JobCloser, type JobClosing, JobsRepository, PayloadCipher, ResultTickets } from '#jobs';
import { meterJob } from '#modalities';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { PrismaService } from '#platform/prisma';
import type { JobEnvelope, QueueTransport } from '#queue';
import { expectInvariant } from '#test/invariant';
import { plainChat } from '#test/plain-chat';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import type { Pricing } from '#model-registry/manifest';
import { type ChatJobPayload, chatJob } from '../../contract/chat.job.js';
import { affordableChat, chatCost } from '../../contract/chat.meter.js';

const pricing: Pricing = { input: { usd: 10, diem: 10 }, output: { usd: 20, diem: 20 } };
const payload = plainChat();

/** Statements sent to the driver. */
function textOf(statement: unknown): string {
  return typeof statement === 'string' ? statement : ((statement as { text?: string }).text ?? '');
}

/** The billing of a chat in the api and ops processes, without the queue between them. */
describe('the billing of a chat', () => {
  let database: TestDatabase;
  let prisma: PrismaService;
  let accounts: AccountsService;
  let ledger: LedgerService;
  let prices: PriceList;
  let closer: JobCloser;
  let admission: AdmissionService;
  let enqueued: JobEnvelope<ChatJobPayload>[];
  let caller: Caller;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    prisma = new PrismaService({ url: database.url, poolSize: 10 });
    accounts = new AccountsService(new AccountsRepository(prisma));
    ledger = createLedger(prisma);
    await prisma.$executeRaw`
      INSERT INTO models (id, type, manifest) VALUES ('m', 'text', ${JSON.stringify({ pricing })}::jsonb)`;
    prices = new PriceList(new PriceRepository(prisma));
    const jobs = new JobsRepository(prisma);
    closer = new JobCloser(jobs, [new SettlementStep(new LedgerRepository(prisma), meterJob)]);
    const producer = {
      requireRoom: () => undefined,
      counts: () => Promise.resolve({ waiting: 0, delayed: 0, active: 0 }),
      enqueue: (_definition: object, envelope: JobEnvelope<ChatJobPayload>) =>
        Promise.resolve(void enqueued.push(envelope)),
    };
    admission = AdmissionService.of({
      jobs,
      closer,
      cipher: new PayloadCipher('5c'.repeat(32)),
      tickets: new ResultTickets('5c'.repeat(32)),
      transport: { producer } as unknown as QueueTransport,
      logger: createLogger('test', { level: 'silent' }),
      queueLimit: 1_000,
      steps: [new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma))],
    });
  });

  beforeEach(async () => {
    enqueued = [];
    quotes = [];
    const { id } = await accounts.createAccount('a');
    const { key } = await accounts.createKey({ accountId: id, kind: 'INFERENCE' });
    caller = await accounts.authenticate(key);
  });

  afterEach(async () => {
    await expectInvariant({ databaseUrl: database.url });
  });

  afterAll(async () => {
    await prisma.$disconnect();
    await database.drop();
  });

  let quotes: JobQuote[] = [];

  async function admit(changes: Partial<ChatJobPayload> = {}, by = caller): Promise<string> {
    const requestId = newRequestId('TST');
    const price = await prices.current('m');
    const limits = { contextLength: 4_096, maxCompletionTokens: 512, pricing: price.pricing };
    const request = { requestId, caller: by, definition: chatJob, modelId: 'm', replyTo: null, stream: false };
    await admitAffordable(
      affordableChat({ ...payload, ...changes }, limits),
      price,
      (affordable, quote) => admission.open({ ...request, payload: affordable, bounds: quote.bounds, quote }),
      (quote) => void quotes.push(quote),
    );
    return requestId;
  }

  const give = (amountNano: bigint) =>
    ledger.credit('grant', { accountId: caller.accountId, currency: 'USD', amountNano });
  const usdNano = async () => (await ledger.balance(caller.accountId)).usdNano;
  const usageOf = (completionTokens: number): TokenUsage => ({
    promptTokens: 12,
    cachedTokens: 0,
    completionTokens,
    reasoningTokens: 0,
  });
  const end = (requestId: string, closing: Partial<JobClosing>) =>
    closer.close({
      requestId,
      attempt: 1,
      state: 'succeeded',
      errorCode: null,
      usage: null,
      executionMs: 1,
      ...closing,
    });

  it('counts what it reserves, charges and refunds once it is committed', async () => {
    await give(nanosPerUsd);
    const metrics = new Metrics('api', { processMetrics: false });
    const money = new MoneyMetrics(metrics);
    const settlement = new SettlementStep(new LedgerRepository(prisma), meterJob, money);
    const jobs = new JobsRepository(prisma);
    const counting = new JobCloser(jobs, [settlement], [settlement.afterwards]);
    const requestId = await admit({ maxTokens: 40 });
    const heldNano = (await ledger.openReservations()).heldNano;
    const usage = usageOf(30);
    const closing = { requestId, attempt: 1, state: 'succeeded', errorCode: null, usage, executionMs: 1 } as const;
    await counting.close(closing);
    // A repeated result counts once.
    expect(await counting.close(closing)).toBeNull();
    const released = await admit({ maxTokens: 40 });
    await counting.close({ ...closing, requestId: released, state: 'failed', errorCode: 'INFERENCE_FAILED' });
    const text = await metrics.render();
    const charged = (await ledger.chargeOf(requestId)) ?? 0n;
    const figure = (name: string) => Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1]);
    expect(charged).toBeGreaterThan(0n);
    expect(figure('sluice_ledger_settled_usd_total')).toBeCloseTo(Number(charged) / 1e9, 12);
    expect(figure('sluice_ledger_released_usd_total')).toBeCloseTo(Number(2n * heldNano - charged) / 1e9, 12);
    expect(text).toMatch(
      /sluice_ledger_reservations_closed_total\{modality="chat",model="m",result="settled",app="api"\} 1/,
    );
    expect(text).toMatch(
      /sluice_ledger_reservations_closed_total\{modality="chat",model="m",result="released",app="api"\} 1/,
    );
  });

  it('charges what was used, to the nano, in two transactions and five statements', async () => {
    await give(nanosPerUsd);
    await admit();
    await end(enqueued[0]?.requestId ?? '', { state: 'failed', errorCode: 'INFERENCE_FAILED' });
    const query = vi.spyOn(pg.Client.prototype, 'query');
    const requestId = await admit();
    await end(requestId, { usage: usageOf(30) });
    const texts = query.mock.calls.map(([statement]) => textOf(statement));
    query.mockRestore();
    expect(texts.filter((text) => /^BEGIN/i.test(text))).toHaveLength(2);
    expect(texts.filter((text) => !/^(BEGIN|COMMIT)/i.test(text))).toHaveLength(5);
    const paid = displayNanos(nanosPerUsd - (await usdNano()), 9);
    expect(paid).toBe(chatCost(usageOf(30), pricing, 0n).usd);
  });

  it('batches concurrent admissions and charges in fewer transactions, each with the result it has alone', async () => {
    await give(nanosPerUsd);
    const query = vi.spyOn(pg.Client.prototype, 'query');
    const requestIds = await Promise.all(Array.from({ length: 40 }, () => admit({ maxTokens: 40 })));
    const closed = await Promise.all(requestIds.map((requestId) => end(requestId, { usage: usageOf(30) })));
    const transactions = query.mock.calls.filter(([statement]) => textOf(statement).startsWith('BEGIN'));
    query.mockRestore();
    expect(closed.map((job) => job?.requestId)).toEqual(requestIds);
    const [charges] = await prisma.$queryRaw<{ count: bigint; amount: bigint }[]>`
      SELECT count(*), sum(charged_nano)::bigint AS amount FROM holds WHERE account_id = ${caller.accountId}::uuid`;
    expect(charges).toEqual({ count: 40n, amount: nanosPerUsd - (await usdNano()) });
    expect(displayNanos(charges?.amount ?? 0n, 9)).toBeCloseTo(chatCost(usageOf(30), pricing, 0n).usd * 40, 9);
    expect(transactions.length).toBeLessThan(20);
  });

  it('refuses some jobs of a batch without affecting the others', async () => {
    await give(nanosPerUsd);
    const { id } = await accounts.createAccount('poor');
    const { key } = await accounts.createKey({ accountId: id, kind: 'INFERENCE' });
    const poor = await accounts.authenticate(key);
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => admit({}, index % 4 === 0 ? poor : caller)),
    );
    const admitted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(reasons).toHaveLength(5);
    for (const reason of reasons) expect(reason).toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    expect(enqueued.map(({ requestId }) => requestId).toSorted()).toEqual(admitted.toSorted());
    for (const requestId of admitted) expect(await end(requestId, { usage: usageOf(1) })).not.toBeNull();
  });

  it.each([
    ['a disconnected client pays the tokens that were made', 'cancelled', 'JOB_CANCELLED', 7, true],
    ['a job past its deadline pays them too', 'expired', 'REQUEST_TIMEOUT', 7, true],
    ['no output is a count, not a gap', 'cancelled', 'JOB_CANCELLED', 0, true],
    ['an internal failure costs nothing', 'failed', 'INFERENCE_FAILED', 7, false],
    ['a lost worker costs nothing', 'failed', 'DEVICE_LOST', 7, false],
  ] as const)('%s', async (_name, state, errorCode, tokens, pays) => {
    await give(nanosPerUsd);
    const requestId = await admit();
    await end(requestId, { state, errorCode, usage: usageOf(tokens) });
    const cost = chatCost(usageOf(tokens), pricing, 0n).usd;
    expect(displayNanos(nanosPerUsd - (await usdNano()), 9)).toBe(pays ? cost : 0);
  });

  // The price is 720 thousand nano: 12 tokens at 10, and 30 at 20 per thousandth of a million.
  it.each([
    ['DIEM alone', 100_000_000n, { DIEM: 720_000n }, { usd: 0, diem: 0.00072 }],
    ['USD alone', 0n, { USD: 720_000n }, { usd: 0.00072, diem: 0 }],
    ['DIEM as far as they go', 300_000n, { DIEM: 300_000n, USD: 420_000n }, { usd: 0.00042, diem: 0.0003 }],
    ['bundled credits, which are dollars', 0n, { BUNDLED: 500_000n, USD: 220_000n }, { usd: 0.00072, diem: 0 }],
  ] as const)('reports the currency that the ledger charges: %s', async (_name, diemNano, paid, cost) => {
    const { accountId } = caller;
    await give(nanosPerUsd);
    if ('BUNDLED' in paid) await ledger.credit('grant', { accountId, currency: 'BUNDLED', amountNano: paid.BUNDLED });
    if (diemNano > 0n) {
      await ledger.setStake(accountId, 100_000_000n);
      const usedUp = 100_000_000n - diemNano;
      if (usedUp > 0n) await ledger.credit('revoke', { accountId, currency: 'DIEM', amountNano: usedUp });
    }
    const requestId = await admit();
    await end(requestId, { usage: usageOf(30) });
    const charges = (await ledger.entries(accountId, 20)).filter((line) => line.requestId === requestId);
    const sums: Record<string, bigint> = {};
    for (const { currency, amountNano } of charges) sums[currency] = (sums[currency] ?? 0n) - amountNano;
    expect(sums).toEqual(paid);
    expect(chatCost(usageOf(30), pricing, quotes.at(-1)?.heldDiemNano ?? -1n)).toEqual(cost);
  });

  it('releases the reservation of a job that ended without a result', async () => {
    await give(nanosPerUsd);
    const requestId = await admit();
    await end(requestId, { state: 'expired', errorCode: 'REQUEST_TIMEOUT', usage: null });
    expect(await usdNano()).toBe(nanosPerUsd);
  });

  it('reduces the output to what a small balance pays for', async () => {
    // The prompt is bound by 5 bytes + 64 + 512 tokens at 10 nano-USD per token and thousand: 5.81 m; then 10 tokens.
    await give(5_810_000n + 10n * 20_000n);
    const requestId = await admit();
    expect(enqueued[0]?.payload.maxTokens).toBe(10);
    await expect(admit()).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    await end(requestId, { usage: usageOf(10) });
  });

  it('refuses an account that cannot pay for one token, before anything is enqueued', async () => {
    await give(5_810_000n + 19_999n);
    await expect(admit()).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
    expect(enqueued).toEqual([]);
  });

  it('names the limit of the key', async () => {
    await give(nanosPerUsd);
    await prisma.$executeRaw`UPDATE api_keys SET limit_usd_nano = 0 WHERE id = ${caller.apiKeyId}::uuid`;
    await expect(admit()).rejects.toMatchObject({ code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED' });
  });

  it('settles at the price of the admission', async () => {
    await give(nanosPerUsd);
    const requestId = await admit();
    const dearer = { input: { usd: 99, diem: 99 }, output: { usd: 99, diem: 99 } };
    await prisma.$executeRaw`UPDATE models SET manifest = ${JSON.stringify({ pricing: dearer })}::jsonb WHERE id = 'm'`;
    await end(requestId, { usage: usageOf(10) });
    await prisma.$executeRaw`UPDATE models SET manifest = ${JSON.stringify({ pricing })}::jsonb WHERE id = 'm'`;
    expect(displayNanos(nanosPerUsd - (await usdNano()), 9)).toBe(chatCost(usageOf(10), pricing, 0n).usd);
  });
});
