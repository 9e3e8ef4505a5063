import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { domainSeparator } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  deployToken,
  EvmContract,
  mintTokens,
  signTransfer,
  submitTransfer,
  tokensOf,
  type TransferOptions,
} from '#test/evm-contracts';
import { EvmNode } from '#test/evm-node';

const payer = privateKeyToAccount(generatePrivateKey());
const payTo = privateKeyToAccount(generatePrivateKey()).address;
const fiveDollars = 5_000_000n;

let node: EvmNode;

beforeAll(async () => {
  node = await EvmNode.start();
});

afterAll(() => node.stop());

describe('the local EVM node', () => {
  it('is the chain that was asked for', async () => {
    expect(await node.request('eth_chainId')).toBe('0x2105');
  });

  it('makes blocks when told, and forgets them', async () => {
    const restore = await node.snapshot();
    await node.setAutomine(false);
    const token = await deployToken(node);
    await mintTokens(token, payer.address, 1n);
    expect(await tokensOf(token, payer.address)).toBe(0n);
    await node.mine();
    expect(await tokensOf(token, payer.address)).toBe(1n);
    await node.setAutomine(true);
    await restore();
    expect(await node.request('eth_getCode', [token.address, 'latest'])).toBe('0x');
  });

  it('has a clock of its own', async () => {
    const late = await EvmNode.start({ chainId: 5, clockOffsetS: -120 });
    try {
      await late.mine();
      expect(Date.now() / 1000 - (await late.time())).toBeGreaterThan(100);
      await late.passTime(3_600);
      expect((await late.time()) - Date.now() / 1000).toBeGreaterThan(3_400);
    } finally {
      await late.stop();
    }
  });
});

describe('the payment token', () => {
  it('names the domain that wallets sign', async () => {
    const token = await deployToken(node);
    const domain = { name: 'USD Coin', version: '2', chainId: node.chainId, verifyingContract: token.address };
    expect(await token.read('DOMAIN_SEPARATOR')).toBe(domainSeparator({ domain }));
  });

  it('moves what was signed, once, whoever submits it', async () => {
    const token = await deployToken(node);
    await mintTokens(token, payer.address, fiveDollars);
    const transfer = await signTransfer(token, payer, { to: payTo, value: fiveDollars });
    await submitTransfer(token, transfer);
    expect(await tokensOf(token, payTo)).toBe(fiveDollars);
    expect(await token.read('authorizationState', [payer.address, transfer.authorization.nonce])).toBe(true);
    await expect(submitTransfer(token, transfer)).rejects.toThrow('authorization is used');
  });

  it.each<[string, Partial<TransferOptions>, string]>([
    ['of another domain', { domain: { name: 'USDC' } }, 'invalid signature'],
    ['before its time', { validAfter: Math.floor(Date.now() / 1000) + 1_000 }, 'not yet valid'],
    ['after its time', { validBefore: Math.floor(Date.now() / 1000) - 10 }, 'expired'],
  ])('refuses a transfer %s', async (_name, options, message) => {
    const token = await deployToken(node);
    await mintTokens(token, payer.address, fiveDollars);
    const transfer = await signTransfer(token, payer, { to: payTo, value: 1n, ...options });
    await expect(submitTransfer(token, transfer)).rejects.toThrow(message);
  });

  it.each([
    ['FeeToken', 4_950_000n],
    ['HollowToken', 0n],
  ] as const)('moves something else as %s', async (kind, expected) => {
    const token = await deployToken(node, { kind });
    await mintTokens(token, payer.address, fiveDollars);
    const to = privateKeyToAccount(generatePrivateKey()).address;
    await submitTransfer(token, await signTransfer(token, payer, { to, value: fiveDollars }));
    expect(await tokensOf(token, to)).toBe(expected);
  });

  it('accepts the signature of a contract for its owner', async () => {
    const token = await deployToken(node);
    const wallet = await EvmContract.deploy(node, 'SignatureWallet', [payer.address]);
    await mintTokens(token, wallet.address, fiveDollars);
    const asWallet = { ...payer, address: wallet.address };
    await submitTransfer(token, await signTransfer(token, asWallet, { to: payTo, value: fiveDollars }));
    expect(await tokensOf(token, wallet.address)).toBe(0n);
  });

  it('is minted for a factory address before its wallet exists', async () => {
    const factory = await EvmContract.deploy(node, 'WalletFactory');
    const salt = `0x${'11'.repeat(32)}`;
    const address = await factory.read<string>('addressOf', [payer.address, salt]);
    expect(await node.request('eth_getCode', [address, 'latest'])).toBe('0x');
    await factory.write('create', [payer.address, salt]);
    expect(await node.request('eth_getCode', [address, 'latest'])).not.toBe('0x');
  });
});
