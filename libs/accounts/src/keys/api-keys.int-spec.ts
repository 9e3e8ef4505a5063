import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { AccountsRepository } from '../accounts.repository.js';
import { AccountsService } from '../accounts.service.js';
import { defaultKeySettings } from '../api-key.js';
import { ApiKeysService, type CreatedKey } from './api-keys.service.js';
import { ApiKeysRepository } from './api-keys.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let accounts: AccountsService;
let keys: ApiKeysService;
let accountId: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 20 });
  accounts = new AccountsService(new AccountsRepository(prisma));
  keys = new ApiKeysService(new ApiKeysRepository(prisma), { usageOfKeys: () => Promise.resolve(new Map()) }, accounts);
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

beforeEach(async () => {
  accountId = (await accounts.createAccount('owner')).id;
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

const create = (description = 'a key'): Promise<CreatedKey> =>
  keys.create(accountId, 'INFERENCE', { ...defaultKeySettings, description });

/** Old keys, created in bulk. */
async function addOldKeys(count: number, expiresAt: Date | null = null): Promise<void> {
  await query(
    `INSERT INTO api_keys (account_id, kind, key_hash, last6, created_at, expires_at)
     SELECT $1, 'INFERENCE', sha256((random()::text || n)::bytea), 'abcdef', now() - interval '1 day', $3
       FROM generate_series(1, $2::int) n`,
    [accountId, count, expiresAt],
  );
}

const codesOf = (results: PromiseSettledResult<unknown>[]): string[] =>
  results.map((result) => (result.status === 'fulfilled' ? 'ok' : (result.reason as PlatformError).code)).toSorted();

describe('the keys of an account', () => {
  it('are listed, found and changed by their owner', async () => {
    const settings = { ...defaultKeySettings, limitUsdNano: 5n, limitPeriod: 'MONTH' } as const;
    const { key, record } = await keys.create(accountId, 'ADMIN', { ...settings, description: 'first 🚣' });
    expect(key).toMatch(/^slk_[\w-]{43}$/);
    const second = await create('second');
    expect((await keys.list(accountId)).map((used) => used.record)).toEqual([record, second.record]);
    const changed = await keys.update(accountId, record.id, { limitUsdNano: null, modelPrivacy: 'PRIVATE_ONLY' });
    expect(changed).toEqual({ ...record, limitUsdNano: null, modelPrivacy: 'PRIVATE_ONLY' });
    expect((await keys.find(accountId, record.id.toUpperCase())).record).toEqual(changed);
    expect(await keys.update(accountId, record.id, {})).toEqual(changed);
    await keys.delete(accountId, record.id);
    expect((await keys.list(accountId)).map((used) => used.record)).toEqual([second.record]);
  });

  it('are invisible to other accounts, and after they were deleted', async () => {
    const { record, key } = await create();
    const otherAccountId = (await accounts.createAccount('another account')).id;
    const deleted = await create();
    await keys.delete(accountId, deleted.record.id);
    const unknown = '00000000-0000-0000-0000-000000000000';
    const cases = [
      [otherAccountId, record.id],
      [accountId, deleted.record.id],
      [accountId, unknown],
      [accountId, "' OR 1=1 --"],
    ] as const;
    for (const [owner, id] of cases) {
      await expect(keys.find(owner, id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(keys.update(owner, id, { description: 'mine' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      await expect(keys.update(owner, id, { expiresAt: null })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      await expect(keys.delete(owner, id)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'id' });
    }
    expect((await keys.find(accountId, record.id)).record).toEqual(record);
    await accounts.authenticate(key);
  });
});

describe('the list of keys', () => {
  it('ends with the 500 keys that expired last, however many did', async () => {
    const { record } = await create('active');
    const ending = await keys.create(accountId, 'INFERENCE', {
      ...defaultKeySettings,
      expiresAt: new Date('2999-01-01'),
    });
    await addOldKeys(3, new Date('2026-01-01'));
    await addOldKeys(300, new Date('2026-01-02'));
    await addOldKeys(198, new Date('2026-01-03'));
    const listed = (await keys.list(accountId)).map((used) => used.record);
    expect(listed).toHaveLength(502);
    expect(listed.slice(-2)).toEqual([record, ending.record]);
    const ofFirst = listed.filter(({ expiresAt }) => expiresAt?.getTime() === Date.parse('2026-01-01'));
    // Of keys that expired at the same moment, as many as fit.
    expect(ofFirst).toHaveLength(2);
    for (const { id } of ofFirst) await keys.delete(accountId, id);
    const next = (await keys.list(accountId)).map((used) => used.record);
    expect(next.filter(({ expiresAt }) => expiresAt?.getTime() === Date.parse('2026-01-01'))).toHaveLength(1);
    expect(await keys.find(accountId, ofFirst[0]?.id ?? '').catch(() => null)).toBeNull();
  });
});

describe('making keys', () => {
  it('is refused after 20 in a minute, whatever the concurrency', async () => {
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => create()));
    expect(codesOf(results)).toEqual([
      ...Array.from({ length: 10 }, () => 'RATE_LIMIT_EXCEEDED'),
      ...Array.from({ length: 20 }, () => 'ok'),
    ]);
    expect(await keys.list(accountId)).toHaveLength(20);
    const [first] = await keys.list(accountId);
    await keys.delete(accountId, first?.record.id ?? '');
    const refusal = await create().catch((error: unknown) => error as PlatformError);
    expect(refusal).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retry: { afterSeconds: expect.any(Number) } });
    const { afterSeconds } = (refusal as PlatformError).retry as { afterSeconds: number };
    expect(afterSeconds).toBeGreaterThan(0);
    expect(afterSeconds).toBeLessThanOrEqual(60);
    await query(`UPDATE api_keys SET created_at = created_at - interval '1 minute' WHERE account_id = $1`, [accountId]);
    await create();
  });

  it('is refused at 500 active ones, whatever the concurrency', async () => {
    await addOldKeys(497);
    await addOldKeys(3, new Date(1));
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => create()));
    expect(codesOf(results)).toEqual(['INVALID_REQUEST', 'INVALID_REQUEST', 'INVALID_REQUEST', 'ok', 'ok', 'ok']);
    const all = await keys.list(accountId);
    expect(all).toHaveLength(503);
    const expired = all.find(({ record }) => record.expiresAt !== null)?.record.id ?? '';
    await expect(keys.update(accountId, expired, { expiresAt: null })).rejects.toThrow('500 active API keys');
    const active = all.find(({ record }) => record.expiresAt === null)?.record.id ?? '';
    await keys.update(accountId, active, { expiresAt: new Date('2999-01-01') });
    await keys.delete(accountId, active);
    await keys.update(accountId, expired, { expiresAt: null });
  });
});

describe('a key that is changed and deleted concurrently', () => {
  it('ends up deleted, with its change applied before or not at all', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { record, key } = await create();
      await accounts.authenticate(key);
      const changes = round % 2 === 0 ? { description: 'changed' } : { expiresAt: new Date('2999-01-01') };
      const [update, removal, second] = await Promise.allSettled([
        keys.update(accountId, record.id, changes),
        keys.delete(accountId, record.id),
        keys.delete(accountId, record.id),
      ]);
      expect(codesOf([removal, second])).toEqual(['INVALID_REQUEST', 'ok']);
      const [row] = await query('SELECT description, expires_at, revoked_at FROM api_keys WHERE id = $1', [record.id]);
      expect(row?.['revoked_at']).toBeInstanceOf(Date);
      const isChanged = row?.['description'] === 'changed' || row?.['expires_at'] !== null;
      expect(isChanged).toBe(update.status === 'fulfilled');
      if (update.status === 'rejected') expect(update.reason).toMatchObject({ code: 'INVALID_REQUEST', param: 'id' });
      await expect(accounts.authenticate(key)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED_INACTIVE_KEY' });
    }
  });
});

describe('another replica', () => {
  /** Authenticates keys against a clock of its own. */
  function replica(): { replica: AccountsService; pass(ms: number): void } {
    let nowMs = 0;
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    return { replica: new AccountsService(new AccountsRepository(prisma), clock), pass: (ms) => void (nowMs += ms) };
  }

  it('refuses a deleted key 5 s later, and honors a change of it', async () => {
    const { record, key } = await create();
    const { replica: other, pass } = replica();
    expect(await other.authenticate(key)).toMatchObject({ modelPrivacy: 'ALL', tier: 'default' });
    await keys.update(accountId, record.id, { modelPrivacy: 'PRIVATE_TEXT' });
    await accounts.setTier(accountId, 'partner');
    pass(5_000);
    expect(await other.authenticate(key)).toMatchObject({ modelPrivacy: 'PRIVATE_TEXT', tier: 'partner' });
    await keys.delete(accountId, record.id);
    pass(4_999);
    await other.authenticate(key);
    pass(1);
    await expect(other.authenticate(key)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED_INACTIVE_KEY' });
  });

  it('refuses a key from the moment it expires', async () => {
    const { record, key } = await create();
    await query(`UPDATE api_keys SET expires_at = now() + interval '2 s' WHERE id = $1`, [record.id]);
    const { replica: other, pass } = replica();
    await other.authenticate(key);
    await query(`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, [record.id]);
    pass(2_000);
    await expect(other.authenticate(key)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED_INACTIVE_KEY' });
  });
});
