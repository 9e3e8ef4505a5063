import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type Clock, PlatformError } from '#common';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { AccountsService } from '../accounts.service.js';
import { defaultKeySettings } from '../api-key.js';
import { ApiKeysService } from '../keys/api-keys.service.js';
import type { StakeVerifier } from './stake-verifier.js';
import { type Web3KeyRequest, Web3KeysService } from './web3-keys.service.js';

/** Stands in for the chain: the test sets the stakes. */
class StakesInMemory implements StakeVerifier {
  readonly stakers = new Set<string>();
  away = false;

  hasStake(address: string): Promise<boolean> {
    return this.away ? Promise.reject(new Error('no route to host')) : Promise.resolve(this.stakers.has(address));
  }
}

const secretKey = 'ab'.repeat(32);
const wallet = privateKeyToAccount(generatePrivateKey());
const address = wallet.address.toLowerCase();

let database: TestDatabase;
let prisma: PrismaService;
let accounts: AccountsService;
let stakes: StakesInMemory;
let nowMs: number;
let web3Keys: Web3KeysService;

const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url });
  accounts = new AccountsService(prisma);
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

beforeEach(() => {
  nowMs = Date.now();
  stakes = new StakesInMemory();
  stakes.stakers.add(address);
  const usage = { usageOfKeys: () => Promise.resolve(new Map()) };
  const keys = new ApiKeysService(prisma, usage, accounts);
  web3Keys = new Web3KeysService(prisma, keys, stakes, { secretKeys: [secretKey] }, clock);
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
    stakes.away = true;
    expect((await refusalOf(request)).message).toMatch(/has expired/);
  });

  it('is refused without a stake, and when the chain does not respond; the token stays valid', async () => {
    const request = await signedRequest();
    stakes.stakers.clear();
    expect((await refusalOf(request)).message).toMatch(/has no stake/);
    stakes.away = true;
    const error = await refusalOf(request);
    expect(error.message).toMatch(/chain did not answer/);
    expect(error.message).not.toMatch(/route/);
    stakes.away = false;
    stakes.stakers.add(address);
    await web3Keys.create(request);
  });
});

/** The address with its letters in the opposite case: its checksum cannot match. */
function swapCase(text: string): string {
  const swapped = [...text.slice(2)].map((letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return `0x${swapped.join('')}`;
}
