import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { AccountsRepository } from './accounts.repository.js';
import { AccountsService } from './accounts.service.js';

let database: TestDatabase;
let prisma: PrismaService;
let accounts: AccountsService;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  accounts = new AccountsService(new AccountsRepository(prisma));
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

async function query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Another process, with an empty cache. */
const elsewhere = () => new AccountsService(new AccountsRepository(prisma));

describe('AccountsService', () => {
  it('creates the first account once, however many processes start together', async () => {
    const made = await Promise.all([1, 2, 3].map(() => elsewhere().bootstrap()));
    const keys = made.filter((each) => each !== null);
    expect(keys).toHaveLength(1);
    expect(keys[0]?.adminKey).toMatch(/^slk_[\w-]{43}$/);
    expect(await elsewhere().authenticate(keys[0]?.adminKey ?? '')).toMatchObject({ kind: 'ADMIN' });
    expect(await elsewhere().authenticate(keys[0]?.inferenceKey ?? '')).toMatchObject({ kind: 'INFERENCE' });
  });

  it('stores the hash and the last six characters, never the key', async () => {
    const account = await accounts.createAccount('other');
    const { key, record } = await accounts.createKey({ accountId: account.id, kind: 'INFERENCE' });
    expect(record.last6).toBe(key.slice(-6));
    const rows = await query('SELECT api_keys::text AS row FROM api_keys');
    expect(rows.some(({ row }) => String(row).includes(key.slice(4, 20)))).toBe(false);
    expect(await accounts.listKeys(account.id)).toEqual([record]);
  });

  it('refuses a key with a wrong last character', async () => {
    const account = await accounts.createAccount('other');
    const { key } = await accounts.createKey({ accountId: account.id, kind: 'INFERENCE' });
    const wrong = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
    await expect(accounts.authenticate(wrong)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    await expect(accounts.authenticate('')).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    await expect(accounts.authenticate('slk_\u0000')).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
  });

  it('tells a revoked or expired key from an unknown one', async () => {
    const account = await accounts.createAccount('other');
    const revoked = await accounts.createKey({ accountId: account.id, kind: 'INFERENCE' });
    await accounts.authenticate(revoked.key);
    expect(await accounts.revokeKey(revoked.record.id)).toBe(true);
    expect(await accounts.revokeKey(revoked.record.id)).toBe(false);
    expect(await accounts.revokeKey('nonsense')).toBe(false);
    const inactive = { code: 'AUTHENTICATION_FAILED_INACTIVE_KEY' };
    await expect(accounts.authenticate(revoked.key)).rejects.toMatchObject(inactive);
    const expired = await accounts.createKey({ accountId: account.id, kind: 'ADMIN', expiresAt: new Date(1) });
    await expect(accounts.authenticate(expired.key)).rejects.toMatchObject(inactive);
  });

  it('records when a key was used', async () => {
    const account = await accounts.createAccount('other');
    const { key, record } = await accounts.createKey({ accountId: account.id, kind: 'INFERENCE' });
    await accounts.authenticate(key);
    await expect
      .poll(async () => (await accounts.listKeys(account.id)).find(({ id }) => id === record.id)?.lastUsedAt)
      .toBeInstanceOf(Date);
  });
});
