import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { LocalConfig, parseConfig } from '#platform/config';
import { PrismaService } from '#platform/prisma';
import { expectInvariant } from '#test/invariant';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { prepareDatabase } from './local-registry.js';

let database: TestDatabase;

beforeAll(async () => void (database = await createMigratedDatabase()));
afterAll(() => database.drop());

it('grants the first account its credit once, even if a later start sets another amount', async () => {
  for (const amount of ['100', '5']) {
    const environment = { SLUICE_MODELS: 'none', SLUICE_BOOTSTRAP_CREDIT_USD: amount };
    await prepareDatabase(database.url, parseConfig(LocalConfig, environment), (text) => expect.fail(text));
  }
  const prisma = new PrismaService({ url: database.url, poolSize: 2 });
  try {
    const [account] = await new AccountsService(new AccountsRepository(prisma)).listAccounts();
    const { usdNano } = await createLedger(prisma).balance(account?.id ?? '');
    expect(usdNano).toBe(100_000_000_000n);
  } finally {
    await prisma.$disconnect();
  }
  await expectInvariant({ databaseUrl: database.url });
});
