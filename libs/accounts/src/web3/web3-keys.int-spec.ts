import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createLedger } from '#billing';
import { type Clock, PlatformError } from '#common';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { AccountsRepository } from '../accounts.repository.js';
import { AccountsService } from '../accounts.service.js';
import { defaultKeySettings } from '../api-key.js';
import { ApiKeysService } from '../keys/api-keys.service.js';
import { WalletKeysRepository } from '../wallets/wallet-keys.repository.js';
import type { StakeLedger, StakeReader } from './stake-reader.js';
import { StakeRefresher } from './stake-refresher.js';
import { StakesRepository } from './stakes.repository.js';
import { StakesService } from './stakes.service.js';
import { type Web3KeyRequest, Web3KeysService } from './web3-keys.service.js';
import { ApiKeysRepository } from '../keys/api-keys.repository.js';
import { WalletsRepository } from './wallets.repository.js';

/** In place of the chain: the test sets the stakes. */
class StakesInMemory implements StakeReader {
  readonly stakes = new Map<string, bigint>();
  away = false;
  reads = 0;

  stakeOf(address: string): Promise<bigint> {
    this.reads += 1;
    return this.away ? Promise.reject(new Error('no route to host')) : Promise.resolve(this.stakes.get(address) ?? 0n);
  }
}

const oneToken = 10n ** 18n;
const diem = 10n ** 9n;

const logger = createLogger('test', { level: 'silent' });
const secretKey = 'ab'.repeat(32);
const wallet = privateKeyToAccount(generatePrivateKey());
const address = wallet.address.toLowerCase();
const listed = privateKeyToAccount(generatePrivateKey());

let database: TestDatabase;
let prisma: PrismaService;
let accounts: AccountsService;
let chain: StakesInMemory;
let stakes: StakesService;
let refresher: StakeRefresher;
let nowMs: number;
let web3Keys: Web3KeysService;

const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  accounts = new AccountsService(new AccountsRepository(prisma));
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

beforeEach(() => {
  nowMs = Date.now();
  chain = new StakesInMemory();
  chain.stakes.set(address, 3n * oneToken);
  const terms = { decimals: 18, diemNanoPerToken: diem };
  const ledger: StakeLedger = createLedger(prisma);
  const repository = new StakesRepository(prisma);
  stakes = new StakesService({ repository, ledger, allowList: [listed.address], terms, reader: chain });
  refresher = new StakeRefresher({ repository, stakes, reader: chain, logger, refreshMs: 600_000 });
  const usage = { usageOfKeys: () => Promise.resolve(new Map()) };
  const keys = new ApiKeysService(new ApiKeysRepository(prisma), usage, accounts);
  web3Keys = new Web3KeysService(new WalletsRepository(prisma), keys, stakes, { secretKeys: [secretKey] }, clock);
});

async function signedRequest(signer = wallet): Promise<Web3KeyRequest> {
  const token = web3Keys.token();
  const signature = await signer.signMessage({ message: token });
  return { address: signer.address, signature, token, kind: 'INFERENCE', settings: defaultKeySettings };
}

async function refusalOf(request: Web3KeyRequest): Promise<PlatformError> {
  const before = await prisma.apiKey.count();
  const error = await web3Keys.create(request).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(PlatformError);
  expect(await prisma.apiKey.count()).toBe(before);
  return error as PlatformError;
}

describe('a key for a wallet', () => {
  it('belongs to the single account of the wallet, created with its first key', async () => {
    const requests = await Promise.all(Array.from({ length: 4 }, () => signedRequest()));
    const made = await Promise.all(requests.map((request) => web3Keys.create(request)));
    const owners = new Set(made.map(({ record }) => record.accountId));
    expect(owners.size).toBe(1);
    expect(await accounts.authenticate(made[0]?.key ?? '')).toMatchObject({
      accountId: [...owners][0],
      kind: 'INFERENCE',
    });
    expect(await prisma.wallet.findMany()).toMatchObject([{ address, accountId: [...owners][0] }]);
    const later = await web3Keys.create({ ...(await signedRequest()), address, kind: 'ADMIN' });
    expect(later.record).toMatchObject({ accountId: [...owners][0], kind: 'ADMIN' });
  });

  it('is created once per token', async () => {
    const request = await signedRequest();
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => web3Keys.create(request)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await refusalOf(request)).toMatchObject({ code: 'INVALID_REQUEST', message: /has been used/ });
  });

  it.each([
    ['an invalid address', { address: '0x12' }, /not an Ethereum address/],
    ['an address with a wrong checksum', { address: swapCase(wallet.address) }, /not an Ethereum address/],
    ['no signature', { signature: 'nonsense' }, /not that of this address/],
    ['a signature with invalid numbers', { signature: `0x${'00'.repeat(65)}` }, /not that of this address/],
    ['a malformed token', { token: 'abc' }, /not a well-formed JWT/],
    ['a token signed by another party', { token: 'e30.e30.AAAA' }, /signature of the token/],
  ])('is refused with %s', async (_name, changes, message) => {
    const error = await refusalOf({ ...(await signedRequest()), ...changes });
    expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(error.message).toMatch(message);
  });

  it('is refused with the signature of another wallet, or of another token', async () => {
    const other = privateKeyToAccount(generatePrivateKey());
    const request = await signedRequest();
    expect((await refusalOf({ ...request, address: other.address })).message).toMatch(/not that of this address/);
    expect((await refusalOf({ ...request, token: web3Keys.token() })).message).toMatch(/not that of this address/);
  });

  it('is refused when the token has expired, without querying the chain', async () => {
    const request = await signedRequest();
    nowMs += 15 * 60_000;
    chain.away = true;
    expect((await refusalOf(request)).message).toMatch(/has expired/);
  });

  it('is refused without a stake, and when the chain does not respond; the token stays valid', async () => {
    const newcomer = privateKeyToAccount(generatePrivateKey());
    const request = await signedRequest(newcomer);
    chain.stakes.clear();
    expect((await refusalOf(request)).message).toMatch(/has no stake/);
    chain.away = true;
    const error = await refusalOf(request);
    expect(error.message).toMatch(/chain did not answer/);
    expect(error.message).not.toMatch(/route/);
    chain.away = false;
    chain.stakes.set(newcomer.address.toLowerCase(), 1n);
    await web3Keys.create(request);
  });
});

/** A wallet with a stake and a key; ops has not read the stake. */
async function stakedWallet(
  units = 3n * oneToken,
): Promise<{ signer: typeof wallet; owner: string; accountId: string }> {
  const signer = privateKeyToAccount(generatePrivateKey());
  const owner = signer.address.toLowerCase();
  chain.stakes.set(owner, units);
  const { record } = await web3Keys.create(await signedRequest(signer));
  return { signer, owner, accountId: record.accountId };
}

async function allowanceOf(accountId: string): Promise<bigint> {
  return (await createLedger(prisma).balance(accountId)).diemAllowanceNano;
}

/** Lets the stakes that were read be as old as this, and due. */
async function age(ms: number): Promise<void> {
  await prisma.$executeRaw`
    UPDATE wallets SET stake_read_at = stake_read_at - ${ms}::float8 * interval '1 ms', stake_due_at = now()`;
}

describe('the stake of a wallet', () => {
  it('gives an allowance with its first key, in the account that the wallet also signs in to', async () => {
    const { owner, accountId } = await stakedWallet();
    expect(await allowanceOf(accountId)).toBe(3n * diem);
    const keys = new WalletKeysRepository(prisma, new WalletsRepository(prisma));
    await keys.ensureKey(owner);
    expect(await keys.accountOf(owner)).toBe(accountId);
  });

  it('gives a wallet that only signs in its allowance, once ops has read it', async () => {
    const owner = privateKeyToAccount(generatePrivateKey()).address.toLowerCase();
    chain.stakes.set(owner, oneToken / 2n);
    const keys = new WalletKeysRepository(prisma, new WalletsRepository(prisma));
    await keys.ensureKey(owner);
    await age(0);
    expect(await refresher.refresh()).toBe(0);
    expect(await allowanceOf((await keys.accountOf(owner)) ?? '')).toBe(diem / 2n);
  });

  it('is read once a minute for keys, and on schedule by one replica of ops', async () => {
    const { signer, owner } = await stakedWallet();
    expect(chain.reads).toBe(1);
    await web3Keys.create(await signedRequest(signer));
    expect(chain.reads).toBe(1);
    await age(60_000);
    await web3Keys.create(await signedRequest(signer));
    expect(chain.reads).toBe(2);
    await age(0);
    const due = await prisma.wallet.count({ where: { address: { startsWith: '0x' } } });
    await Promise.all([refresher.refresh(), refresher.refresh()]);
    expect(chain.reads).toBe(2 + due);
    await refresher.refresh();
    expect(chain.reads).toBe(2 + due);
    const [row] = await prisma.$queryRaw<{ ms: number }[]>`
      SELECT (extract(epoch FROM stake_due_at - now()) * 1000)::float8 AS ms FROM wallets WHERE address = ${owner}`;
    expect(row?.ms).toBeGreaterThan(590_000);
    expect(row?.ms).toBeLessThanOrEqual(600_000);
  });

  it('ends the allowance when it is gone, keeps keys, and allows no more of them', async () => {
    const { signer, owner, accountId } = await stakedWallet();
    const { key } = await web3Keys.create(await signedRequest(signer));
    chain.stakes.delete(owner);
    await age(60_000);
    await refresher.refresh();
    expect(await allowanceOf(accountId)).toBe(0n);
    expect(await accounts.authenticate(key)).toMatchObject({ accountId });
    expect((await refusalOf(await signedRequest(signer))).message).toMatch(/has no stake/);
    chain.stakes.set(owner, oneToken);
    await age(0);
    await refresher.refresh();
    expect(await allowanceOf(accountId)).toBe(diem);
  });

  it('counts for a day while the chain does not answer, for keys too', async () => {
    const { signer, accountId } = await stakedWallet();
    chain.away = true;
    await age(86_000_000);
    expect(await refresher.refresh()).toBeGreaterThan(0);
    expect(await allowanceOf(accountId)).toBe(3n * diem);
    await web3Keys.create(await signedRequest(signer));
    await age(400_001);
    await refresher.refresh();
    expect(await allowanceOf(accountId)).toBe(0n);
    expect((await refusalOf(await signedRequest(signer))).message).toMatch(/chain did not answer/);
    chain.away = false;
    await age(0);
    await refresher.refresh();
    expect(await allowanceOf(accountId)).toBe(3n * diem);
  });

  it.each([
    ['the smallest unit', 1n, 0n],
    ['less than a tenth', oneToken / 11n, 0n],
    ['more than there can be', 2n ** 256n - 1n, 10n ** 18n - 1n],
  ])('of %s creates a key and gives what it is worth', async (_name, units, expected) => {
    const { accountId } = await stakedWallet(units);
    expect(await allowanceOf(accountId)).toBe(expected);
  });

  it('leaves the allowance of an account without one to the operator', async () => {
    const { record } = await web3Keys.create(await signedRequest(listed));
    await createLedger(prisma).setStake(record.accountId, 7n * diem);
    await web3Keys.create(await signedRequest(listed));
    await age(0);
    await prisma.$executeRaw`UPDATE wallets SET stake_due_at = now()`;
    await refresher.refresh();
    expect(await allowanceOf(record.accountId)).toBe(7n * diem);
  });

  it('reaches the account later when the ledger does not take it now', async () => {
    const ledger = createLedger(prisma);
    const failing: StakeLedger = { setStake: () => Promise.reject(new Error('no connection')) };
    const terms = { decimals: 18, diemNanoPerToken: diem };
    const repository = new StakesRepository(prisma);
    const service = new StakesService({ repository, ledger: failing, allowList: [], terms, reader: chain });
    const usage = { usageOfKeys: () => Promise.resolve(new Map()) };
    const keys = new ApiKeysService(new ApiKeysRepository(prisma), usage, accounts);
    const signer = privateKeyToAccount(generatePrivateKey());
    chain.stakes.set(signer.address.toLowerCase(), oneToken);
    const made = await new Web3KeysService(
      new WalletsRepository(prisma),
      keys,
      service,
      { secretKeys: [secretKey] },
      clock,
    ).create(await signedRequest(signer));
    expect((await ledger.balance(made.record.accountId)).diemAllowanceNano).toBe(0n);
    await refresher.refresh();
    expect(await allowanceOf(made.record.accountId)).toBe(diem);
  });
});

/** The address with its letters in the opposite case: its checksum cannot match. */
function swapCase(text: string): string {
  const swapped = [...text.slice(2)].map((letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return `0x${swapped.join('')}`;
}
