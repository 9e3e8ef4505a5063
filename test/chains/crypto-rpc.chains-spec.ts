import { privateKeyToAccount, generatePrivateKey } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runChainProgram } from '#test/chain-program';
import { deployToken, type EvmContract, mintTokens } from '#test/evm-contracts';
import { EvmNode } from '#test/evm-node';
import { type Platform, startPlatform } from '#test/platform';
import { generateSolanaKeyPair, solanaMint, SolanaVm } from '#test/solana-vm';
import { stopConsistently } from '#test/stop-consistently';
import { RequestRecorder } from '#test/request-recorder';

/* Client libraries through the platform to chains on this machine; each gets from it what the node itself gives. */

let node: EvmNode;
let vm: SolanaVm;
let recorder: RequestRecorder;
let platform: Platform;
let token: EvmContract;

beforeAll(async () => {
  [node, vm] = await Promise.all([EvmNode.start(), SolanaVm.start({ slotMs: 100 })]);
  recorder = await RequestRecorder.start(vm.url);
  token = await deployToken(node);
  const SLUICE_RPC_UPSTREAMS = `base-mainnet=${node.url} solana-mainnet=${recorder.url}`;
  platform = await startPlatform({ processEnv: { api: { SLUICE_RPC_UPSTREAMS, SLUICE_RPC_CONCURRENT: '16' } } });
});

afterAll(async () => {
  await stopConsistently(platform);
  await recorder?.stop();
  await Promise.all([node?.stop(), vm?.stop()]);
});

beforeEach(async () => {
  await platform.query(`DELETE FROM rate_limit_windows`);
});

const proxyUrl = (network: string) => `${platform.baseUrl}/crypto/rpc/${network}`;

async function post(network: string, body: string): Promise<Response> {
  const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
  return await fetch(proxyUrl(network), { method: 'POST', body, headers });
}

/** Runs a client with a new wallet that has 100 of the currency and 1,000 base units of the token. */
async function runEvmClient(name: 'viem' | 'ethers', url: string): Promise<unknown> {
  const key = generatePrivateKey();
  const { address } = privateKeyToAccount(key);
  await node.fund(address);
  await mintTokens(token, address, 1_000n);
  const settings = { url, key, payee, token: token.address, chainId: node.chainId };
  return await runClient(name, settings);
}

async function runClient(name: string, settings: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${platform.inferenceKey}` };
  const environment = { SLUICE_TEST_CLIENT: JSON.stringify({ headers, ...settings }) };
  return JSON.parse(await runChainProgram(`clients/${name}.mjs`, environment)) as unknown;
}

const payee = privateKeyToAccount(generatePrivateKey()).address;

describe('an EVM node through the platform', () => {
  it.each([
    ['viem', 'success'],
    ['ethers', 1],
  ] as const)('gives %s the same as without it', async (name, status) => {
    const restore = await node.snapshot();
    const direct = await runEvmClient(name, node.url);
    await restore();
    const proxied = await runEvmClient(name, proxyUrl('base-mainnet'));
    const withoutWallet = (results: unknown) =>
      JSON.parse(JSON.stringify(results).replaceAll(/0x[0-9a-fA-F]{40}\b/g, '0x…')) as unknown;
    expect(withoutWallet(proxied)).toEqual(withoutWallet(direct));
    expect(proxied).toMatchObject({ status, isLater: true, poor: { code: -32000 } });
    expect(JSON.stringify(proxied)).toContain('transfer amount exceeds balance');
  });

  it('answers a batch in the order of its calls, with the types of their ids', async () => {
    const calls = [
      '{"jsonrpc":"2.0","id":"b","method":"eth_chainId","params":[]}',
      '{"jsonrpc":"2.0","id":18446744073709551615,"method":"eth_blockNumber","params":[]}',
      '{"jsonrpc":"2.0","id":"","method":"eth_getBalance","params":["nonsense","latest"]}',
      '{"jsonrpc":"2.0","id":0,"method":"eth_gasPrice","params":[]}',
    ];
    const response = await post('base-mainnet', `[${calls.join(',')}]`);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect([...text.matchAll(/"id":("b"|""|\d+)/g)].map(([, id]) => id)).toEqual([
      '"b"',
      '18446744073709551615',
      '""',
      '0',
    ]);
    expect(JSON.parse(text)).toMatchObject([{ result: '0x2105' }, {}, { error: { code: -32602 } }, {}]);
  });

  it('broadcasts a signed transaction once', async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    await node.fund(account.address);
    const signed = await account.signTransaction({
      ...{ chainId: node.chainId, to: payee, value: 7n, nonce: 0, gas: 21_000n },
      ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n },
    });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [signed] });
    const first = (await (await post('base-mainnet', body)).json()) as { result: string };
    expect(first.result).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await node.request('eth_getTransactionReceipt', [first.result])).toMatchObject({ status: '0x1' });
    const again = await (await post('base-mainnet', body)).text();
    const direct = await fetch(node.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(again)).toEqual(await direct.json());
    expect(await node.request('eth_getTransactionCount', [account.address, 'latest'])).toBe('0x1');
  });
});

describe('a Solana node through the platform', () => {
  it('gives @solana/kit the same as without it', async () => {
    const run = async (url: string) => {
      const [payer, payee] = [generateSolanaKeyPair(), generateSolanaKeyPair()];
      await vm.fund(payer.address);
      await vm.mintTokens(payer.address, 5_000_000n);
      await vm.openTokenAccount(payee.address);
      const secretKey = Buffer.from(payer.secretKey).toString('base64');
      return await runClient('kit', { url, secretKey, payee: payee.address, mint: solanaMint });
    };
    const proxied = await run(proxyUrl('solana-mainnet'));
    expect(proxied).toEqual(await run(vm.url));
    expect(proxied).toMatchObject({
      rentEpoch: '18446744073709551615',
      status: 'confirmed',
      paid: '1500000',
      tooPoor: { code: -32002 },
    });
  });

  it('passes the largest integer as bytes, in the call and in the answer', async () => {
    const options = '{"minContextSlot": 18446744073709551615,  "encoding":"base64"}';
    const refused = `{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${solanaMint}",${options}]}`;
    const refusal = await (await post('solana-mainnet', refused)).text();
    expect(recorder.bodies.at(-1)).toBe(refused);
    expect(JSON.parse(refusal)).toMatchObject({
      error: {
        code: -32016,
        message: 'Minimum context slot has not been reached',
        data: { contextSlot: expect.any(Number) },
      },
    });
    const call = `{"jsonrpc":"2.0","id":2,"method":"getAccountInfo","params":["${solanaMint}",{"encoding":"base64"}]}`;
    expect(await (await post('solana-mainnet', call)).text()).toContain('"rentEpoch":18446744073709551615');
  });
});
