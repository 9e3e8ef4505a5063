import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { type Platform, startPlatform } from '#test/platform';
import { RawConnection } from '#test/raw-http';
import { stopConsistently } from '#test/stop-consistently';
import { evmWallet, type SignInOptions, signInHeader, solanaWallet, type TestWallet } from '#test/wallet-sign-ins';

/* Callers with a wallet through the whole platform: sign-in, credit, chats until the balance refuses, transactions. */

const publicOrigin = 'https://api.example.org';
const payTo = `0x${'1'.repeat(40)}`;

let platform: Platform;
let folder: string;
let moduleFile: string;

/** Packages of curves and chains that the first api has loaded. */
function chainModules(): string[] {
  const urls = readFileSync(moduleFile, 'utf8').split('\n');
  return urls.filter((url) => /\/node_modules\/(viem|ethers|@noble|@scure|@x402|@solana)\//.test(url));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wallets-'));
  moduleFile = join(folder, 'modules');
  const noting = fileURLToPath(new URL('../harness/loaded-modules.mjs', import.meta.url));
  const settings = {
    SLUICE_PAYMENT_EVM_ADDRESS: payTo,
    SLUICE_WALLET_ORIGINS: publicOrigin,
  };
  platform = await startPlatform({
    replicas: { api: 2 },
    processEnv: {
      api: { ...settings, NODE_OPTIONS: `--import=${noting}`, LOADED_MODULES_FILE: moduleFile },
      'api-2': settings,
    },
  });
});

afterAll(async () => {
  await stopConsistently(platform);
  await rm(folder, { recursive: true, force: true });
});

const sign = (wallet: TestWallet, options: Partial<SignInOptions> = {}) =>
  signInHeader(wallet, { origin: publicOrigin, ...options });

interface Asked {
  method?: string;
  body?: object;
  headers?: Record<string, string>;
  /** Which replica. */
  replica?: number;
}

async function ask(path: string, { method, body, headers = {}, replica = 0 }: Asked = {}): Promise<Response> {
  return await fetch(`${platform.origins[replica]}/api/v1${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const chat = (content = 'Hello', more: object = {}) => ({
  model: 'tiny-llama',
  messages: [{ role: 'user', content }],
  max_completion_tokens: 20,
  ...more,
});

async function chatAs(wallet: TestWallet, body = chat(), more: Asked = {}): Promise<Response> {
  return await ask('/chat/completions', {
    body,
    ...more,
    headers: { 'sign-in-with-x': await sign(wallet), ...more.headers },
  });
}

async function readAs(wallet: TestWallet, path: string): Promise<{ status: number; body: unknown }> {
  const response = await ask(path, { headers: { 'x-sign-in-with-x': await sign(wallet) } });
  return { status: response.status, body: (await response.json()) as unknown };
}

interface Transactions {
  data: {
    currentBalance: number;
    transactions: {
      type: string;
      amount: number;
      balanceAfter: number;
      requestId: string | null;
      modelId: string | null;
    }[];
    pagination: { limit: number; offset: number; hasMore: boolean };
  };
}

interface Balance {
  data: { walletAddress: string; balanceUsd: number; canConsume: boolean; diemBalanceUsd?: number };
}

const transactionsOf = async (wallet: TestWallet, query = '') =>
  ((await readAs(wallet, `/x402/transactions/${wallet.address}${query}`)).body as Transactions).data;
const balanceOf = async (wallet: TestWallet) =>
  ((await readAs(wallet, `/x402/balance/${wallet.address}`)).body as Balance).data;

const stored = ({ family, address }: TestWallet) => (family === 'eip155' ? address.toLowerCase() : address);

async function credit(wallet: TestWallet, usd: string): Promise<void> {
  const line = ['credits', 'grant', usd, '--account', `wallet ${stored(wallet)}`];
  await runCommandLine(line, { DATABASE_URL: platform.databaseUrl, SLUICE_HOME: platform.home });
}

const requirementsOf = (response: Response) =>
  JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString()) as {
    accepts: { payTo: string }[];
  };

describe('a service with wallets', () => {
  it('loads no curve and no chain package until a wallet signs in, and viem not even then', async () => {
    expect((await ask('/models')).status).toBe(200);
    expect((await ask('/chat/completions', { body: chat() })).status).toBe(402);
    expect(chainModules()).toEqual([]);
    await chatAs(evmWallet());
    const packages = new Set(chainModules().map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]));
    expect([...packages].map(String).toSorted()).toEqual(['@noble/curves', '@noble/hashes']);
  });

  it('tells who sends nothing how to get credentials, without looking at hosts that the client names', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example' };
    const response = await ask('/chat/completions', { body: chat(), headers });
    const body = (await response.json()) as { resource: { url: string }; authOptions: object };
    expect([response.status, body.resource.url]).toEqual([402, `${publicOrigin}/api/v1/chat/completions`]);
    expect(body.authOptions).toBeDefined();
    expect(requirementsOf(response).accepts).toMatchObject([{ payTo }]);
  });

  it.each([
    ['an EVM wallet', evmWallet()],
    ['a Solana wallet', solanaWallet()],
  ])('lets %s chat until its balance refuses, and read what it paid', async (_name, wallet) => {
    const poor = await chatAs(wallet);
    expect([poor.status, poor.headers.get('x-balance-remaining')]).toEqual([402, '0.000000']);
    expect(await poor.json()).toMatchObject({
      code: 'PAYMENT_REQUIRED',
      currentBalanceUsd: 0,
      siwxChallenge: { info: { domain: 'api.example.org' } },
    });
    expect(requirementsOf(poor).accepts).toHaveLength(1);

    await credit(wallet, '0.10001');
    let chats = 0;
    let response = await chatAs(wallet);
    while (response.status === 200) {
      expect(Number(response.headers.get('x-balance-remaining'))).toBeGreaterThanOrEqual(0.1);
      chats += 1;
      expect(chats).toBeLessThan(20);
      await response.json();
      await platform.closedJobs();
      response = await chatAs(wallet, chat(), { replica: chats % 2 });
    }
    expect([response.status, (await response.json()) as object]).toMatchObject([
      402,
      { reason: 'insufficient_balance' },
    ]);

    const { transactions, currentBalance, pagination } = await transactionsOf(wallet);
    const charges = transactions.filter(({ type }) => type === 'CHARGE');
    expect(charges).toHaveLength(chats);
    expect(charges[0]).toMatchObject({
      modelId: 'tiny-llama',
      requestId: expect.stringMatching(/^chatcmpl-/) as string,
    });
    expect(transactions.at(-1)).toMatchObject({
      type: 'TOP_UP',
      amount: 0.10001,
      balanceAfter: 0.10001,
      requestId: null,
    });
    for (const [index, { amount, balanceAfter }] of transactions.entries()) {
      const before = transactions[index + 1]?.balanceAfter ?? 0;
      expect(balanceAfter).toBeCloseTo(before + amount, 9);
    }
    expect(currentBalance).toBeCloseTo(transactions[0]?.balanceAfter ?? 0, 5);
    expect(pagination).toEqual({ limit: 50, offset: 0, hasMore: false });
    const page = await transactionsOf(wallet, '?limit=1&offset=1');
    expect([page.transactions, page.pagination]).toEqual([
      [transactions[1]],
      { limit: 1, offset: 1, hasMore: transactions.length > 2 },
    ]);
    const balance = await balanceOf(wallet);
    expect(balance).toMatchObject({ walletAddress: stored(wallet), canConsume: false });
    expect(balance.balanceUsd).toBeCloseTo(currentBalance, 5);
  });

  it('lists a request that failed with its refund', async () => {
    const wallet = evmWallet();
    await chatAs(wallet);
    await credit(wallet, '5');
    expect((await chatAs(wallet, chat('[[fail=0]]'))).status).toBeGreaterThanOrEqual(500);
    await platform.closedJobs();
    const { transactions, currentBalance } = await transactionsOf(wallet);
    expect(transactions.map(({ type }) => type)).toEqual(['REFUND', 'CHARGE', 'TOP_UP']);
    expect(currentBalance).toBe(5);
    expect((transactions[0]?.amount ?? 0) + (transactions[1]?.amount ?? 0)).toBe(0);
    expect(transactions.map(({ balanceAfter }) => balanceAfter)).toEqual([5, 5 + (transactions[1]?.amount ?? 0), 5]);
  });

  it('spends the DIEM of a linked stake before USD', async () => {
    const wallet = evmWallet();
    await chatAs(wallet);
    const line = ['diem', 'set-stake', '1', '--account', `wallet ${stored(wallet)}`];
    await runCommandLine(line, { DATABASE_URL: platform.databaseUrl, SLUICE_HOME: platform.home });
    await credit(wallet, '5');
    expect((await chatAs(wallet)).status).toBe(200);
    await platform.closedJobs();
    const { balanceUsd, diemBalanceUsd } = await balanceOf(wallet);
    expect(balanceUsd).toBe(5);
    expect(diemBalanceUsd).toBeLessThan(1);
  });

  it('streams to a wallet, and tells it its balance', async () => {
    const wallet = solanaWallet('base64');
    await chatAs(wallet);
    await credit(wallet, '1');
    const response = await chatAs(wallet, chat('Hello', { stream: true }));
    expect([response.status, response.headers.get('x-balance-remaining')]).toEqual([200, '1.000000']);
    expect(await response.text()).toContain('data: [DONE]');
  });

  it('keeps idempotency keys and stored answers of wallets apart', async () => {
    const [one, two] = [evmWallet(), evmWallet()];
    for (const wallet of [one, two]) {
      await chatAs(wallet);
      await credit(wallet, '1');
    }
    const headers = { 'idempotency-key': 'the-same-key' };
    const body = chat('Idempotent');
    const first = await chatAs(one, body, { headers });
    const again = await chatAs(one, body, { headers, replica: 1 });
    expect([again.headers.get('idempotent-replayed'), await again.text()]).toEqual(['true', await first.text()]);
    const other = await chatAs(two, body, { headers });
    expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });

  it('shows a wallet nothing of another one', async () => {
    const [one, two] = [evmWallet(), solanaWallet()];
    for (const path of ['balance', 'transactions']) {
      const { status, body } = await readAs(one, `/x402/${path}/${two.address}`);
      expect({ status, body }).toMatchObject({ status: 403, body: { code: 'X402_WALLET_MISMATCH' } });
    }
  });

  it.each(['limit=0', 'limit=101', 'limit=1.5', 'limit=-1', 'limit=NaN', 'limit=1&limit=2', 'offset=-1', 'offset=1e3'])(
    'refuses a page of %s by the name of its field',
    async (query) => {
      const wallet = evmWallet();
      const { status, body } = await readAs(wallet, `/x402/transactions/${wallet.address}?${query}`);
      expect({ status, body }).toMatchObject({ status: 400, body: { issues: [{ path: [query.split('=', 1)[0]] }] } });
    },
  );
});

describe('attacks on sign-ins', () => {
  it('refuses a used nonce in another message on every replica, and takes the same message again', async () => {
    const wallet = evmWallet();
    const nonce = 'abcdefgh12345678';
    const path = `/x402/balance/${wallet.address}`;
    const first = await sign(wallet, { nonce });
    const other = await sign(wallet, { nonce, statement: 'something else' });
    const statusOf = async (signIn: string, replica: number) =>
      (await ask(path, { headers: { 'sign-in-with-x': signIn }, replica })).status;
    expect(await statusOf(first, 0)).toBe(200);
    for (const replica of [0, 1])
      expect([await statusOf(other, replica), await statusOf(first, replica)]).toEqual([401, 200]);
  });

  it('looks at no host that a request names', async () => {
    const wallet = evmWallet();
    const local = platform.origin;
    const spoofed = { host: 'api.example.org', 'x-forwarded-host': new URL(local).host, 'x-forwarded-proto': 'http' };
    const signIn = await signInHeader(wallet, { origin: local });
    const path = `/x402/balance/${wallet.address}`;
    expect((await ask(path, { headers: { ...spoofed, 'sign-in-with-x': signIn } })).status).toBe(401);
  });

  it.each([
    ['another port', { uri: `${publicOrigin}:8443/` }],
    ['another scheme', { uri: 'http://api.example.org/' }],
    ['a homograph', { domain: 'аpi.example.org' }],
    ['another chain', { chainReference: '1', members: { chainId: 1 } }],
    ['the past', { issuedAtMs: Date.now() - 600_000, expirationMs: null }],
    ['the future', { issuedAtMs: Date.now() + 3_600_000 }],
    ['a changed message', { members: { message: 'x' } }],
  ] as [string, Partial<SignInOptions>][])('refuses %s with a reason', async (_name, options) => {
    const response = await ask('/embeddings', {
      body: { model: 'default', input: 'x' },
      headers: { 'sign-in-with-x': await sign(evmWallet(), options) },
    });
    expect([response.status, (await response.json()) as object]).toMatchObject([
      401,
      { error: { code: 'X402_INVALID_SIGN_IN' } },
    ]);
  });

  it('answers spellings of the paths of wallets with 4xx, never with an account', async () => {
    const wallet = evmWallet();
    const signIn = await sign(wallet);
    const address = wallet.address.toLowerCase();
    const paths = [
      `/api/v1/x402/balance/${address}%2f`,
      `/api/v1/x402/balance/%2e%2e%2ftransactions%2f${address}`,
      `/api/v1/x402/balance/../balance/${address}%00`,
      `/api/v1/x402//balance/${address}`,
      `/api/v1//x402/balance/${address}`,
      `/api/v1/x402%2fbalance/${address}`,
      `/api/v1/x402/./balance/${address}`,
      `/api/v1/x402/balance/${address}\\`,
      `/api/v1/x402/balance/`,
      `/api/v1/x402/balance/%`,
      `/api/v1/x402/transactions/${address}%3Flimit=1`,
      `/api/v1/x402/transactions/${'0x'.padEnd(4_000, 'a')}`,
    ];
    for (const path of paths) {
      const connection = await RawConnection.open(platform.port);
      connection.send(`GET ${path} HTTP/1.1\r\nhost: x\r\nsign-in-with-x: ${signIn}\r\nconnection: close\r\n\r\n`);
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(await connection.untilClosed()) ?? [];
      expect([path, Number(status) >= 400 && Number(status) < 500]).toEqual([path, true]);
    }
  });
});

describe('money of wallets', () => {
  it('is a ledger without faults', async () => {
    await platform.closedJobs();
    const line = ['ledger', 'verify', '--json'];
    const report = await runCommandLine(line, { DATABASE_URL: platform.databaseUrl, SLUICE_HOME: platform.home });
    const { breaks } = JSON.parse(report) as { breaks: Record<string, unknown> };
    expect(Object.entries(breaks).filter(([, count]) => Number(count) !== 0)).toEqual([]);
  });
});
