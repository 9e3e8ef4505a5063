import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WalletsRepository } from '#accounts';
import { TopUpsRepository } from '#payments';
import { TopUpExecutionRepository } from '#payments/execution';
import { PrismaService } from '#platform/prisma';
import { runCommandLine } from '#test/command-line';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

const payer = `0x${'c'.repeat(40)}`;
let database: TestDatabase;
let prisma: PrismaService;
let id: string;

const run = (...line: string[]) => runCommandLine(line, { DATABASE_URL: database.url });

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  const terms = { network: 'eip155:8453', asset: '0x1', payTo: '0x2', extra: {}, maxTimeoutSeconds: 300 };
  const hash = Buffer.alloc(32, 1);
  const row = await new TopUpsRepository(prisma).insert({
    network: terms.network,
    payer,
    paymentKey: hash,
    payloadHash: hash,
    identifier: null,
    fingerprint: hash,
    amountNano: 10_000_000_000n,
    payment: { terms, amount: 10_000_000n, payload: {} },
    validUntilMs: Date.now() + 300_000,
  });
  id = row?.id ?? '';
  const wallets = new WalletsRepository(prisma);
  const execution = new TopUpExecutionRepository(prisma, wallets);
  await execution.settle({ id, payer }, '0xabc');
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

describe('sluice top-ups', () => {
  it('lists payments, and those of a payer or state', async () => {
    for (const search of [[], ['settled'], [payer.toUpperCase().replace('0X', '0x')], [id.slice(0, 8)]]) {
      expect(await run('top-ups', 'list', ...search)).toContain(id);
    }
    expect(await run('top-ups', 'list', 'pending')).not.toContain(id);
  });

  it('shows all that is known of a payment', async () => {
    const text = await run('top-ups', 'show', id);
    for (const word of ['settled', '10.000000 USD', payer, '0xabc']) expect(text).toContain(word);
    expect(JSON.parse(await run('top-ups', 'show', id, '--json'))).toMatchObject({ id, state: 'settled' });
  });

  it('refuses what is not there', async () => {
    await expect(run('top-ups', 'show', 'nothing')).rejects.toThrow(/no top-up/);
    await expect(run('top-ups', 'list', '--limit', '0')).rejects.toThrow(/--limit/);
  });
});
