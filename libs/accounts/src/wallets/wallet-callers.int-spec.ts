import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '#common';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { evmWallet, signInHeader, solanaMainnet, solanaWallet } from '#test/wallet-sign-ins';
import { AccountsRepository } from '../accounts.repository.js';
import { AccountsService } from '../accounts.service.js';
import { ApiKeysRepository } from '../keys/api-keys.repository.js';
import { ContractSignatures } from './contract-signatures.js';
import { SignInVerifier } from './sign-in-verifier.js';
import { WalletCallers } from './wallet-callers.js';
import { WalletKeysRepository } from './wallet-keys.repository.js';
import { WalletNoncesRepository } from './wallet-nonces.repository.js';
import { WalletsRepository } from '../web3/wallets.repository.js';

const origin = 'http://127.0.0.1:3000';
const here = '192.0.2.7';
const verifier = new SignInVerifier(
  { origins: [origin], chains: ['eip155:8453', solanaMainnet] },
  new ContractSignatures(new Map(), { post: () => Promise.reject(new Error('no node')) }),
);

let database: TestDatabase;
let prisma: PrismaService;
let nowMs: number;
let verified: number;
const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

/** A replica: each has its own caches, and all have one database. */
function replica(): WalletCallers {
  const counting = {
    verify: (header: string, atMs: number) => {
      verified += 1;
      return verifier.verify(header, atMs);
    },
  };
  const accounts = new AccountsRepository(prisma);
  const keys = new WalletKeysRepository(prisma, new WalletsRepository(prisma));
  return new WalletCallers({ accounts, keys, nonces: new WalletNoncesRepository(prisma), verifier: counting }, clock);
}

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

beforeEach(() => {
  nowMs = Date.now();
  verified = 0;
});

const usedNonce = expect.objectContaining({
  code: 'X402_INVALID_SIGN_IN',
  message: expect.stringContaining('used the nonce before') as string,
});

describe('WalletCallers', () => {
  it.each([
    ['EVM', evmWallet()],
    ['Solana', solanaWallet()],
  ])('creates one account and one key for an %s wallet, however many replicas see it first', async (_name, wallet) => {
    const headers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => signInHeader(wallet, { origin })));
    const callers = await Promise.all(headers.map((header) => replica().authenticate(header, here)));
    const stored = wallet.family === 'eip155' ? wallet.address.toLowerCase() : wallet.address;
    expect(new Set(callers.map(({ accountId, apiKeyId }) => `${accountId} ${apiKeyId}`)).size).toBe(1);
    expect(callers[0]).toMatchObject({ wallet: stored, kind: 'INFERENCE', tier: 'default', modelPrivacy: 'ALL' });
    expect(await prisma.wallet.findMany({ where: { address: stored } })).toMatchObject([
      { accountId: callers[0]?.accountId, apiKeyId: callers[0]?.apiKeyId },
    ]);
    expect(await prisma.apiKey.count({ where: { accountId: callers[0]!.accountId } })).toBe(1);
  });

  it('takes the same sign-in again on every replica, and verifies it once on each', async () => {
    const header = await signInHeader(evmWallet(), { origin });
    const [first, second] = [replica(), replica()];
    const { apiKeyId } = await first.authenticate(header, here);
    for (const callers of [first, second, first, second]) {
      expect(await callers.authenticate(header, here)).toMatchObject({ apiKeyId });
    }
    expect(verified).toBe(2);
  });

  it('refuses a sign-in again from another network address, also on another replica', async () => {
    const header = await signInHeader(evmWallet(), { origin });
    const first = replica();
    await first.authenticate(header, here);
    for (const callers of [first, replica()]) {
      await expect(callers.authenticate(header, '198.51.100.1')).rejects.toEqual(usedNonce);
    }
    await expect(first.authenticate(header, here)).resolves.toMatchObject({ kind: 'INFERENCE' });
  });

  it('refuses another message with a nonce that was used, on the same replica and on another', async () => {
    const wallet = evmWallet();
    const nonce = 'abcdefgh12345678';
    const sign = (statement: string) => signInHeader(wallet, { origin, nonce, statement });
    const first = replica();
    await first.authenticate(await sign('one'), here);
    for (const callers of [first, replica()]) {
      await expect(callers.authenticate(await sign('two'), here)).rejects.toEqual(usedNonce);
    }
    const other = await signInHeader(solanaWallet(), { origin, nonce });
    await expect(replica().authenticate(other, here)).resolves.toMatchObject({ kind: 'INFERENCE' });
  });

  it('lets one of ten messages with one nonce in', async () => {
    const wallet = evmWallet();
    const attempts = Array.from({ length: 10 }, async (_value, index) => {
      const header = await signInHeader(wallet, { origin, nonce: 'abcdefgh12345678', statement: `try ${index}` });
      return await replica().authenticate(header, here);
    });
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('ends a session with its message, also one that is cached', async () => {
    const header = await signInHeader(evmWallet(), { origin, expirationMs: nowMs + 20_000 });
    const callers = replica();
    await callers.authenticate(header, here);
    nowMs += 19_000;
    await callers.authenticate(header, here);
    nowMs += 2_000;
    for (const later of [callers, replica()]) {
      await expect(later.authenticate(header, here)).rejects.toMatchObject({ code: 'X402_INVALID_SIGN_IN' });
    }
  });

  it('frees nonces that have expired', async () => {
    const wallet = evmWallet();
    const address = wallet.address.toLowerCase();
    const sign = (nonce: string) => signInHeader(wallet, { origin, nonce });
    await replica().authenticate(await sign('abcdefgh-first'), here);
    await replica().authenticate(await sign('abcdefgh-other'), here);
    await prisma.$executeRaw`UPDATE wallet_nonces SET expires_at = now() - interval '1 second' WHERE wallet = ${address}`;
    await replica().authenticate(await sign('abcdefgh-first'), here);
    const left = await prisma.walletNonce.findMany({ where: { wallet: address }, select: { nonce: true } });
    expect(left).toEqual([{ nonce: 'abcdefgh-first' }]);
  });

  it('keeps a nonce longer than any replica takes its message', async () => {
    const wallet = evmWallet();
    const issuedAtMs = nowMs + 25_000;
    await replica().authenticate(await signInHeader(wallet, { origin, issuedAtMs }), here);
    const [row] = await prisma.$queryRaw<{ leftMs: number }[]>`
      SELECT (extract(epoch FROM expires_at - now()) * 1000)::float8 AS "leftMs" FROM wallet_nonces
       WHERE wallet = ${wallet.address.toLowerCase()}`;
    expect(row?.leftMs).toBeGreaterThan(300_000 + 25_000 + 20_000);
  });

  it('refuses a wallet whose account is suspended, within 5 s', async () => {
    const wallet = evmWallet();
    const callers = replica();
    const { accountId } = await callers.authenticate(await signInHeader(wallet, { origin }), here);
    const accounts = new AccountsService(new AccountsRepository(prisma));
    await accounts.setSuspended(accountId, true);
    nowMs += 5_001;
    const header = await signInHeader(wallet, { origin });
    await expect(callers.authenticate(header, here)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await accounts.setSuspended(accountId, false);
    nowMs += 5_001;
    await expect(callers.authenticate(header, here)).resolves.toMatchObject({ accountId });
    await accounts.closeAccount(accountId);
    nowMs += 5_001;
    await expect(callers.authenticate(header, here)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  it('shows the key of a wallet in no list, and lets nobody change it or count it', async () => {
    const { accountId, apiKeyId } = await replica().authenticate(await signInHeader(evmWallet(), { origin }), here);
    const keys = new ApiKeysRepository(prisma);
    expect(await keys.list(accountId)).toEqual([]);
    expect(await keys.find(accountId, apiKeyId)).toBeNull();
    expect(await keys.update(accountId, apiKeyId, { limitUsdNano: 0n })).toBeNull();
    expect(await keys.revoke(accountId, apiKeyId)).toBe(false);
    const counts = await keys.transaction((transaction) => keys.count(transaction, accountId, 20));
    expect(counts.active).toBe(0);
    expect(await keys.transaction((transaction) => keys.standing(transaction, accountId, apiKeyId))).toBeNull();
    expect(await new AccountsService(new AccountsRepository(prisma)).listKeys(accountId)).toEqual([]);
  });

  it('forgets a wallet whose account is deleted', async () => {
    const wallet = evmWallet();
    const { accountId } = await replica().authenticate(await signInHeader(wallet, { origin }), here);
    await new AccountsService(new AccountsRepository(prisma)).deleteAccount(accountId);
    const again = await replica().authenticate(await signInHeader(wallet, { origin }), here);
    expect(again.accountId).not.toBe(accountId);
  });
});
