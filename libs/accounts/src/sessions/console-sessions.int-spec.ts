import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { AccountsRepository } from '../accounts.repository.js';
import { AccountsService, type BootstrapKeys } from '../accounts.service.js';
import { ConsoleLinksService } from './console-links.service.js';
import { ConsoleSessionsRepository } from './console-sessions.repository.js';
import { ConsoleSessionsService } from './console-sessions.service.js';
import { DeleteExpiredSessionsSweep } from './delete-expired-sessions.sweep.js';
import { hashSessionToken, newLinkToken, newSessionToken } from './session-token.js';

let database: TestDatabase;
let prisma: PrismaService;
let accounts: AccountsService;
let repository: ConsoleSessionsRepository;
let first: BootstrapKeys;
let sessions: ConsoleSessionsService;

/** A replica with empty caches. */
const replica = () =>
  new ConsoleSessionsService(repository, new AccountsService(new AccountsRepository(prisma)), {
    secretKeys: ['5c'.repeat(32)],
  });

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  accounts = new AccountsService(new AccountsRepository(prisma));
  repository = new ConsoleSessionsRepository(prisma);
  const keys = await accounts.bootstrap();
  if (keys === null) throw new Error('The database was not empty.');
  first = keys;
});

beforeEach(() => {
  sessions = replica();
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

async function newAdminKey(): Promise<{ key: string; id: string; accountId: string }> {
  const account = await accounts.createAccount('tenant');
  const { key, record } = await accounts.createKey({ accountId: account.id, kind: 'ADMIN' });
  return { key, id: record.id, accountId: account.id };
}

describe('a session of the console', () => {
  it('is its own where several are read together', async () => {
    const [one, other, ended] = [await newAdminKey(), await newAdminKey(), await newAdminKey()];
    const tokens = await Promise.all([one, other, ended].map(({ key }) => sessions.openWithKey(key)));
    const [first = '', second = '', third = ''] = tokens;
    await replica().end(third);
    const hashes = [second, third, first].map(hashSessionToken);
    const found = await repository.find(hashes);
    expect(found.map((stored) => stored?.key.accountId ?? null)).toEqual([other.accountId, null, one.accountId]);
    await accounts.revokeKey(one.id);
    expect((await repository.find(hashes)).map((stored) => stored?.key.active)).toEqual([true, undefined, false]);
  });

  it('stands for its key on every replica, until it is ended', async () => {
    const { key, id, accountId } = await newAdminKey();
    const token = await sessions.openWithKey(key);
    expect(await replica().authenticate(token)).toMatchObject({ accountId, apiKeyId: id, kind: 'ADMIN' });
    const session = await replica().find(token);
    expect(session).toMatchObject({
      accountId,
      accountName: 'tenant',
      apiKeyId: id,
      last6: key.slice(-6),
      isOperator: false,
    });
    expect(replica().isCsrfTextOf(token, session?.csrf ?? '')).toBe(true);
    await sessions.end(token);
    expect(await sessions.find(token)).toBeNull();
    await expect(sessions.authenticate(token)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
  });

  it('has no token in the database', async () => {
    const token = await sessions.openWithKey(first.adminKey);
    const rows = await prisma.$queryRaw<{ row: string }[]>`SELECT console_sessions::text AS row FROM console_sessions`;
    const hex = Buffer.from(token).toString('hex');
    expect(rows.some(({ row }) => row.includes(token) || row.includes(hex))).toBe(false);
  });

  it('is refused for a key that is not valid', async () => {
    await expect(sessions.openWithKey('slk_wrong')).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
  });

  it('ends with its key', async () => {
    const { key, id } = await newAdminKey();
    const token = await sessions.openWithKey(key);
    await accounts.revokeKey(id);
    expect(await replica().find(token)).toBeNull();
    await expect(replica().authenticate(token)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
  });

  it('expires no later than its key, and is then deleted by the sweep', async () => {
    const { accountId } = await newAdminKey();
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { key, record } = await accounts.createKey({ accountId, kind: 'ADMIN', expiresAt });
    const token = await sessions.openWithKey(key);
    expect((await sessions.find(token))?.expiresAt).toEqual(expiresAt);
    await prisma.consoleSession.updateMany({
      where: { apiKeyId: record.id },
      data: { expiresAt: new Date(Date.now() - 1_000) },
    });
    await expect(replica().authenticate(token)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    expect(await new DeleteExpiredSessionsSweep(repository).run()).toBe(1);
    expect(await prisma.consoleSession.count({ where: { apiKeyId: record.id } })).toBe(0);
  });

  it('pushes the oldest one of its key out when there are too many', async () => {
    const { key, id } = await newAdminKey();
    const tokens: string[] = [];
    for (let count = 0; count < 23; count += 1) tokens.push(await sessions.openWithKey(key));
    expect(await prisma.consoleSession.count({ where: { apiKeyId: id } })).toBe(20);
    expect(await sessions.find(tokens[0] ?? '')).toBeNull();
    expect(await sessions.find(tokens.at(-1) ?? '')).not.toBeNull();
  });

  it('is refused while its account is suspended', async () => {
    const { key, accountId } = await newAdminKey();
    const token = await sessions.openWithKey(key);
    await accounts.setSuspended(accountId, true);
    await expect(replica().authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(await replica().find(token)).toBeNull();
  });
});

describe('the cookies of a request', () => {
  const junk = (count: number) =>
    Array.from({ length: count }, (_, index) => `sluice_console_${index}=${newSessionToken(Buffer.alloc(32, index))}`);

  it('have the session among any number that others set', async () => {
    const token = await sessions.openWithKey(first.adminKey);
    const header = [...junk(100), `sluice_console_a=${token}`].join('; ');
    expect(replica().tokensIn(header)).toEqual([token]);
  });

  it('name eight sessions at most, even if another client has collected more', async () => {
    const { key } = await newAdminKey();
    const tokens: string[] = [];
    for (let count = 0; count < 12; count += 1) tokens.push(await sessions.openWithKey(key));
    const header = tokens.map((token, index) => `sluice_console_${index}=${token}`).join('; ');
    expect(sessions.tokensIn(header)).toEqual(tokens.slice(0, 8));
  });

  it('cost no query when this installation made none of them, and one in 5 s for a session that has ended', async () => {
    const find = vi.spyOn(repository, 'find');
    const remove = vi.spyOn(repository, 'delete');
    const token = await sessions.openWithKey(first.adminKey);
    await sessions.end(token);
    find.mockClear();
    remove.mockClear();
    for (const text of [newSessionToken(Buffer.alloc(32, 7)), newLinkToken(), 'junk', '']) {
      expect(await sessions.find(text)).toBeNull();
      await expect(sessions.authenticate(text)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
      await sessions.end(text);
    }
    expect(find).not.toHaveBeenCalled();
    for (let count = 0; count < 20; count += 1) {
      expect(await sessions.find(token)).toBeNull();
      await sessions.end(token);
    }
    expect(find).toHaveBeenCalledTimes(1);
    expect(remove).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});

describe('an operator', () => {
  it('is an ADMIN key of the first account, or of one that was made an operator', async () => {
    expect(await accounts.authenticate(first.adminKey)).toMatchObject({ isOperator: true });
    expect(await accounts.authenticate(first.inferenceKey)).not.toHaveProperty('isOperator');
    const { key, accountId } = await newAdminKey();
    expect(await accounts.authenticate(key)).not.toHaveProperty('isOperator');
    await accounts.setOperator(accountId, true);
    expect(await accounts.authenticate(key)).toMatchObject({ isOperator: true });
    await accounts.setOperator(accountId, false);
    expect(await accounts.authenticate(key)).not.toHaveProperty('isOperator');
  });
});

describe('a one-time link', () => {
  const tokenOf = (link: string | null) => link?.split('/').at(-1) ?? '';

  it('signs in once with an ADMIN key of an operator, however many use it at once', async () => {
    const link = await new ConsoleLinksService(repository).create();
    expect(link).toMatch(/^console\/#\/sign-in\/[\w-]{43}$/);
    const uses = await Promise.allSettled([1, 2, 3].map(() => replica().openWithLink(tokenOf(link))));
    const opened = uses.filter((use) => use.status === 'fulfilled');
    expect(opened).toHaveLength(1);
    expect(await sessions.find(opened[0]?.value ?? '')).toMatchObject({ accountId: first.accountId, isOperator: true });
    await expect(sessions.openWithLink(tokenOf(link))).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
  });

  it('is refused when its time is over', async () => {
    const link = await new ConsoleLinksService(repository).create();
    await prisma.consoleLink.updateMany({ data: { expiresAt: new Date(Date.now() - 1_000) } });
    await expect(sessions.openWithLink(tokenOf(link))).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
  });

  it('is not made for an account without a valid ADMIN key', async () => {
    const { id, accountId } = await newAdminKey();
    const links = new ConsoleLinksService(repository);
    expect(await links.create(accountId)).not.toBeNull();
    await accounts.revokeKey(id);
    expect(await links.create(accountId)).toBeNull();
  });
});
