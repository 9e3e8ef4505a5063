import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EvmContract } from '#test/evm-contracts';
import { EvmNode } from '#test/evm-node';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* Keys for wallets through the whole platform: real signatures, and stakes in a contract on a chain on this machine. */

const oneToken = 10n ** 18n;

let node: EvmNode;
let staking: EvmContract;
let platform: Platform;

beforeAll(async () => {
  node = await EvmNode.start({ chainId: 1 });
  staking = await EvmContract.deploy(node, 'Staking');
  const stakes = { SLUICE_STAKE_RPC_URL: node.url, SLUICE_STAKE_CONTRACT: staking.address };
  const ops = { ...stakes, SLUICE_STAKE_REFRESH_MS: '1000' };
  platform = await startPlatform({ processEnv: { api: stakes, ops } });
});

afterAll(async () => {
  await stopConsistently(platform);
  await node?.stop();
});

interface Answer {
  status: number;
  body: { data?: { token?: string; apiKey?: string }; message?: string; error?: unknown };
}

async function call(method: string, path: string, options: { key?: string; body?: object } = {}): Promise<Answer> {
  const { key, body } = options;
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  if (body) headers['content-type'] = 'application/json';
  const response = await fetch(`${platform.baseUrl}${path}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function createKey(signer = privateKeyToAccount(generatePrivateKey())): Promise<Answer> {
  const { body } = await call('GET', '/api_keys/generate_web3_key');
  const token = body.data?.token ?? '';
  const signature = await signer.signMessage({ message: token });
  const request = { apiKeyType: 'INFERENCE', address: signer.address, token, signature };
  return await call('POST', '/api_keys/generate_web3_key', { body: request });
}

/** DIEM left today, as the key's own owner reads it. */
async function diemOf(key: string): Promise<number | null> {
  const { body } = await call('GET', '/api_keys/rate_limits', { key });
  return (body as unknown as { data: { balances: { DIEM: number | null } } }).data.balances.DIEM;
}

async function chat(key: string): Promise<number> {
  const body = { model: 'tiny-llama', messages: [{ role: 'user', content: 'Hi [[tokens=3]]' }] };
  return (await call('POST', '/chat/completions', { key, body })).status;
}

describe('a key for a staked wallet', () => {
  it('spends the DIEM of the stake, until the stake is gone', async () => {
    const signer = privateKeyToAccount(generatePrivateKey());
    await staking.write('stake', [signer.address, 2n * oneToken]);
    const { status, body } = await createKey(signer);
    expect([status, body]).toMatchObject([200, { data: { apiKey: expect.stringMatching(/^slk_/) } }]);
    const key = body.data?.apiKey ?? '';
    expect(await diemOf(key)).toBe(2);
    expect(await chat(key)).toBe(200);
    await platform.closedJobs();
    const left = await diemOf(key);
    expect(left).toBeGreaterThan(1);
    expect(left).toBeLessThan(2);
    await staking.write('stake', [signer.address, oneToken]);
    await expect.poll(() => diemOf(key)).toBeGreaterThan(2);
    await staking.write('unstake', [signer.address, 3n * oneToken]);
    await expect.poll(() => chat(key)).toBe(402);
    expect(await createKey(signer)).toMatchObject({ status: 400 });
  });

  it('is refused to a wallet without a stake', async () => {
    expect(await createKey()).toMatchObject({ status: 400, body: { error: expect.stringContaining('no stake') } });
  });

  it('is the account of the wallet, whichever key', async () => {
    const signer = privateKeyToAccount(generatePrivateKey());
    await staking.write('stake', [signer.address, oneToken]);
    await createKey(signer);
    await createKey(signer);
    const rows = await platform.query(`SELECT account_id FROM wallets WHERE address = $1`, [
      signer.address.toLowerCase(),
    ]);
    const keys = await platform.query(`SELECT 1 FROM api_keys WHERE account_id = $1`, [rows[0]?.account_id]);
    expect([rows.length, keys.length]).toEqual([1, 2]);
  });
});
