import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { encodeAbiParameters } from 'viem/utils';
import { OperatorClient } from '#egress';
import type { PaymentExecutionNetwork } from '#platform/config';
import { PrismaService } from '#platform/prisma';
import {
  deployToken,
  EvmContract,
  mintTokens,
  type SignedTransfer,
  signTransfer,
  submitTransfer,
  type TokenOptions,
  tokensOf,
  type TransferOptions,
} from '#test/evm-contracts';
import { EvmNode as LocalNode } from '#test/evm-node';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import type { SignedPayment } from '../facilitator.js';
import { checkPaymentNetwork, openPaymentNetwork } from '../payment-network.js';
import { SentTransactionsRepository } from '../sent-transactions.repository.js';
import type { PaymentNetworkAccess } from '../payment-network-access.js';

const payer = privateKeyToAccount(generatePrivateKey());
const feePayerKey = generatePrivateKey();
const payTo = privateKeyToAddress(generatePrivateKey());
const amount = 5_000_000n;
const never = new AbortController().signal;
const quiet = { warn: () => undefined };

let node: LocalNode;
let database: TestDatabase;
let prisma: PrismaService;
let nodeClient: OperatorClient;

beforeAll(async () => {
  [node, database] = await Promise.all([LocalNode.start(), createMigratedDatabase()]);
  prisma = new PrismaService({ url: database.url });
  nodeClient = new OperatorClient();
  await node.fund(privateKeyToAddress(feePayerKey));
});

afterAll(async () => {
  await Promise.all([nodeClient.close(), node.stop(), prisma.$disconnect()]);
  await database.drop();
});

/** A token of its own per test, so that balances start at 0. */
async function setUp(
  options: TokenOptions & { confirmations?: number; settleMs?: number; on?: LocalNode; key?: `0x${string}` } = {},
): Promise<{ token: EvmContract; settings: PaymentExecutionNetwork; access: PaymentNetworkAccess }> {
  const { confirmations = 1, settleMs = 18_000, on = node, key = feePayerKey, ...tokenOptions } = options;
  const token = await deployToken(on, tokenOptions);
  const { name = 'USD Coin', version = '2' } = tokenOptions;
  const settings: PaymentExecutionNetwork = {
    kind: 'evm',
    network: `eip155:${on.chainId}`,
    asset: token.address,
    payTo,
    extra: { name, version },
    maxTimeoutSeconds: 300,
    rpcUrl: on.url,
    feePayerKey: key,
    confirmations,
    commitment: 'confirmed',
  };
  const sentTransactions = new SentTransactionsRepository(prisma);
  const access = await openPaymentNetwork(settings, {
    nodeClient,
    sentTransactions,
    logger: quiet,
    settleMs,
    pollMs: 50,
  });
  await mintTokens(token, payer.address, 100n * amount);
  return { token, settings, access };
}

function paymentOf(settings: PaymentExecutionNetwork, transfer: SignedTransfer, value = amount): SignedPayment {
  return { terms: settings, amount: value, payload: { ...transfer } };
}

async function pay(
  { token, settings }: { token: EvmContract; settings: PaymentExecutionNetwork },
  options: Partial<TransferOptions> = {},
): Promise<SignedPayment> {
  return paymentOf(settings, await signTransfer(token, payer, { to: payTo, value: amount, ...options }));
}

function facilitatorOf({ facilitator }: PaymentNetworkAccess) {
  if (!facilitator) throw new Error('there is no facilitator');
  return facilitator;
}

/** Transactions of the fee payer that were mined. */
async function minedOf(on: LocalNode = node): Promise<number> {
  return Number(await on.request<string>('eth_getTransactionCount', [privateKeyToAddress(feePayerKey), 'latest']));
}

describe('a payment on an EVM chain', () => {
  it('is verified, settled and found on the chain', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings });
    expect(await facilitatorOf(access).verify(payment, never)).toEqual({
      valid: true,
      payer: payer.address.toLowerCase(),
    });
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'unused' });
    const settlement = await facilitatorOf(access).settle(payment, never);
    expect(settlement).toMatchObject({ outcome: 'settled', transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(await tokensOf(token, payTo)).toBe(amount);
    const { transaction } = settlement as { transaction: string };
    expect(await access.chain.lookUp(payment, never)).toEqual({ state: 'settled', transaction });
  });

  it('is mined with 19 others that settle at the same time', async () => {
    const { token, settings, access } = await setUp();
    const payments = await Promise.all(Array.from({ length: 20 }, () => pay({ token, settings })));
    const settlements = await Promise.all(payments.map((payment) => facilitatorOf(access).settle(payment, never)));
    expect(settlements.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 20 }, () => 'settled'));
    const hashes = settlements.map((settlement) => 'transaction' in settlement && settlement.transaction);
    expect(new Set(hashes).size).toBe(20);
    expect(await tokensOf(token, payTo)).toBe(20n * amount);
  });

  it('is mined with those of another process that uses the same fee payer', async () => {
    const { token, settings, access } = await setUp();
    const other = new PrismaService({ url: database.url });
    const sentTransactions = new SentTransactionsRepository(other);
    const elsewhere = await openPaymentNetwork(settings, { nodeClient, sentTransactions, logger: quiet, pollMs: 50 });
    const payments = await Promise.all(Array.from({ length: 10 }, () => pay({ token, settings })));
    const settlements = await Promise.all(
      payments.map((payment, index) => facilitatorOf(index % 2 ? access : elsewhere).settle(payment, never)),
    );
    expect(settlements.filter(({ outcome }) => outcome === 'settled')).toHaveLength(10);
    await other.$disconnect();
  });

  it('is one transfer, however often it is settled at once', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings });
    const before = await minedOf();
    const settlements = await Promise.all(
      Array.from({ length: 10 }, () => facilitatorOf(access).settle(payment, never)),
    );
    const [first] = settlements;
    expect(first).toMatchObject({ outcome: 'settled' });
    expect(settlements).toEqual(Array.from({ length: 10 }, () => first));
    expect(await minedOf()).toBe(before + 1);
    expect(await tokensOf(token, payTo)).toBe(amount);
  });

  it('stays pending with its hash while no block comes, and a retry sends no other transaction', async () => {
    const { token, settings, access } = await setUp({ settleMs: 1_500 });
    const [payment, second] = await Promise.all([pay({ token, settings }), pay({ token, settings })]);
    const before = await minedOf();
    await node.setAutomine(false);
    try {
      const pending = await facilitatorOf(access).settle(payment, never);
      expect(pending).toMatchObject({ outcome: 'pending', transaction: expect.stringMatching(/^0x/) });
      expect(await facilitatorOf(access).settle(payment, never)).toEqual(pending);
      // A second one, while the first is unmined, takes the next nonce.
      expect(await facilitatorOf(access).settle(second, never)).toMatchObject({ outcome: 'pending' });
      expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'unused' });
      await node.mine();
      expect(await facilitatorOf(access).settle(payment, never)).toEqual({ ...pending, outcome: 'settled' });
      expect(await facilitatorOf(access).settle(second, never)).toMatchObject({ outcome: 'settled' });
      expect(await minedOf()).toBe(before + 2);
    } finally {
      await node.setAutomine(true);
    }
  });

  it('is settled by its transaction after a process died between signing and sending', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings });
    const dying = new OperatorClient();
    const broken = {
      post: async (request: Parameters<OperatorClient['post']>[0]) => {
        if (Buffer.from(request.body ?? '').includes('eth_sendRawTransaction')) throw new Error('the process died');
        return dying.post(request);
      },
    };
    const sentTransactions = new SentTransactionsRepository(prisma);
    const dependencies = { nodeClient: broken, sentTransactions, logger: quiet, settleMs: 1_500 };
    const died = await openPaymentNetwork(settings, dependencies);
    const pending = await facilitatorOf(died).settle(payment, never);
    expect(pending).toMatchObject({ outcome: 'pending', transaction: expect.stringMatching(/^0x/) });
    const next = await facilitatorOf(access).settle(await pay({ token, settings }), never);
    expect(next).toMatchObject({ outcome: 'settled' });
    expect(await access.chain.lookUp(payment, never)).toEqual({ ...pending, outcome: undefined, state: 'settled' });
    await dying.close();
  });

  it('is answered in time while another process holds the nonces, and settles afterwards', async () => {
    const { token, settings, access } = await setUp({ settleMs: 1_000 });
    const payment = await pay({ token, settings });
    const other = new pg.Client(database.url);
    await other.connect();
    const lock = `fee payer ${settings.network} ${privateKeyToAddress(feePayerKey).toLowerCase()}`;
    await other.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [lock]);
    expect(await facilitatorOf(access).settle(payment, never)).toEqual({ outcome: 'pending', transaction: null });
    await other.end();
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'settled' });
    expect(await tokensOf(token, payTo)).toBe(amount);
  });

  it('is sent again by a look-up after the node has lost it', async () => {
    const { token, settings, access } = await setUp({ settleMs: 1_000 });
    const payment = await pay({ token, settings });
    await node.setAutomine(false);
    try {
      const pending = await facilitatorOf(access).settle(payment, never);
      const { transaction } = pending as { transaction: string };
      expect(await node.request('hardhat_dropTransaction', [transaction])).toBe(true);
      expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'unused' });
      await node.mine();
      expect(await access.chain.lookUp(payment, never)).toEqual({ state: 'settled', transaction });
    } finally {
      await node.setAutomine(true);
    }
  });

  it('is signed again for a higher fee, with the same nonce, when the base fee has left it behind', async () => {
    const { token, settings, access } = await setUp({ settleMs: 1_000 });
    const payment = await pay({ token, settings });
    await node.setAutomine(false);
    try {
      const before = await minedOf();
      const first = await facilitatorOf(access).settle(payment, never);
      // 100 gwei.
      await node.request('hardhat_setNextBlockBaseFeePerGas', ['0x174876e800']);
      await node.mine();
      expect(await minedOf()).toBe(before);
      await prisma.$executeRaw`UPDATE sent_transactions SET signed_at = now() - interval '1 minute'`;
      const second = await facilitatorOf(access).settle(payment, never);
      expect(second).toMatchObject({ outcome: 'pending' });
      expect(second).not.toEqual(first);
      await node.mine();
      expect(await facilitatorOf(access).settle(payment, never)).toEqual({ ...second, outcome: 'settled' });
      expect(await minedOf()).toBe(before + 1);
      expect(await tokensOf(token, payTo)).toBe(amount);
    } finally {
      await node.setAutomine(true);
    }
  });

  it('waits for its confirmations', async () => {
    const { token, settings, access } = await setUp({ confirmations: 3, settleMs: 1_500 });
    const payment = await pay({ token, settings });
    await node.mine(3);
    const pending = await facilitatorOf(access).settle(payment, never);
    expect(pending).toMatchObject({ outcome: 'pending', transaction: expect.stringMatching(/^0x/) });
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'unused' });
    await node.mine(2);
    expect(await facilitatorOf(access).settle(payment, never)).toEqual({ ...pending, outcome: 'settled' });
  });

  it('is unused again after a reorganization, and settles again with the same transaction', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings });
    const restore = await node.snapshot();
    const settled = await facilitatorOf(access).settle(payment, never);
    expect(settled).toMatchObject({ outcome: 'settled' });
    await restore();
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'unused' });
    expect(await facilitatorOf(access).settle(payment, never)).toEqual(settled);
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'settled' });
    expect(await tokensOf(token, payTo)).toBe(amount);
  });

  it('is settled when another sender submitted it', async () => {
    const { token, settings, access } = await setUp();
    const transfer = await signTransfer(token, payer, { to: payTo, value: amount });
    const payment = paymentOf(settings, transfer);
    const transaction = await submitTransfer(token, transfer);
    await node.mine(10);
    expect(await access.chain.lookUp(payment, never)).toEqual({ state: 'settled', transaction });
    expect(await facilitatorOf(access).settle(payment, never)).toEqual({ outcome: 'settled', transaction });
    expect(await facilitatorOf(access).verify(payment, never)).toMatchObject({
      valid: false,
      reason: 'invalid_exact_evm_nonce_already_used',
    });
  });

  it('is settled when another sender is faster by one block', async () => {
    const { token, settings, access } = await setUp({ settleMs: 6_000 });
    const transfer = await signTransfer(token, payer, { to: payTo, value: amount });
    const payment = paymentOf(settings, transfer);
    await node.setAutomine(false);
    try {
      const settling = facilitatorOf(access).settle(payment, never);
      await sleep(700);
      const faster = await submitFirst(token, transfer);
      await node.mine();
      expect(await settling).toEqual({ outcome: 'settled', transaction: faster });
      expect(await tokensOf(token, payTo)).toBe(amount);
    } finally {
      await node.setAutomine(true);
    }
  });

  it('is void after its payer canceled it', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings });
    const { nonce } = (payment.payload as unknown as SignedTransfer).authorization;
    const domain = { name: 'USD Coin', version: '2', chainId: node.chainId, verifyingContract: token.address };
    const signature = await payer.signTypedData({
      domain,
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: payer.address, nonce },
    });
    await token.write('cancelAuthorization', [payer.address, nonce, signature]);
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'void', message: /cancel/ });
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'failed' });
  });

  it('is void after the payer used its nonce for something else', async () => {
    const { token, settings, access } = await setUp();
    const nonce = `0x${'ab'.repeat(32)}` as const;
    const payment = await pay({ token, settings }, { nonce });
    await submitTransfer(token, await signTransfer(token, payer, { to: payer.address, value: amount, nonce }));
    // A transfer of the same amount that belongs to no authorization.
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'void' });
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({
      outcome: 'failed',
      reason: 'invalid_exact_evm_transfer_event_mismatch',
    });
  });

  it.each(['FeeToken', 'HollowToken'] as const)('fails with %s, which moves something else', async (kind) => {
    const { token, settings, access } = await setUp({ kind });
    const payment = await pay({ token, settings });
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({
      outcome: 'failed',
      reason: 'invalid_exact_evm_transfer_event_mismatch',
    });
    expect(await access.chain.lookUp(payment, never)).toMatchObject({ state: 'void' });
  });

  it('is accepted with an end later than the terms ask for', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings }, { validBefore: Math.floor(Date.now() / 1_000) + 3_600 });
    expect(await facilitatorOf(access).verify(payment, never)).toMatchObject({ valid: true });
  });

  it('of a contract wallet settles', async () => {
    const { token, settings, access } = await setUp();
    const wallet = await EvmContract.deploy(node, 'SignatureWallet', [payer.address]);
    await mintTokens(token, wallet.address, amount);
    const asWallet = { ...payer, address: wallet.address };
    const payment = paymentOf(settings, await signTransfer(token, asWallet, { to: payTo, value: amount }));
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'settled' });
    expect(await tokensOf(token, wallet.address)).toBe(0n);
  });

  it('of a wallet that is not deployed is refused by name', async () => {
    const { token, settings, access } = await setUp();
    const factory = await EvmContract.deploy(node, 'WalletFactory');
    const salt = `0x${'22'.repeat(32)}`;
    const address = await factory.read<`0x${string}`>('addressOf', [payer.address, salt]);
    await mintTokens(token, address, amount);
    const transfer = await signTransfer(token, { ...payer, address }, { to: payTo, value: amount });
    const wrapped = encodeAbiParameters(
      [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
      [factory.address, '0x1234', transfer.signature],
    );
    const signature = `${wrapped}${'6492'.repeat(16)}` as const;
    const payment = paymentOf(settings, { ...transfer, signature });
    expect(await facilitatorOf(access).verify(payment, never)).toMatchObject({
      valid: false,
      reason: 'invalid_exact_evm_signature',
      message: expect.stringContaining('not deployed'),
    });
    await factory.write('create', [payer.address, salt]);
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'settled' });
  });

  it('passes off-chain verification and is refused when the token would revert', async () => {
    const { token, settings, access } = await setUp();
    const wallet = await EvmContract.deploy(node, 'SignatureWallet', [payTo]);
    await mintTokens(token, wallet.address, amount);
    const asWallet = { ...payer, address: wallet.address };
    const payment = paymentOf(settings, await signTransfer(token, asWallet, { to: payTo, value: amount }));
    expect(await facilitatorOf(access).verify(payment, never)).toMatchObject({
      valid: false,
      reason: 'invalid_exact_evm_transaction_simulation_failed',
      message: expect.stringContaining('invalid signature'),
    });
  });

  it('is refused by name without the balance', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings }, { value: 200n * amount });
    expect(await facilitatorOf(access).verify({ ...payment, amount: 200n * amount }, never)).toMatchObject({
      valid: false,
      reason: 'invalid_exact_evm_insufficient_balance',
    });
  });

  it('is refused with the domain that was expected and the one that was signed', async () => {
    const { token, settings, access } = await setUp();
    const payment = await pay({ token, settings }, { domain: { name: 'USDC' } });
    const verification = await facilitatorOf(access).verify(payment, never);
    expect(verification).toMatchObject({ valid: false, reason: 'invalid_exact_evm_signature' });
    const { message } = verification as { message: string };
    expect(message).toContain('expected: name "USD Coin", version "2", chain id 8453');
    expect(message).toContain('signed for name "USDC"');
  });

  it('is refused at both bounds, which are exclusive', async () => {
    const { token, settings, access } = await setUp();
    const time = await node.time();
    const early = await pay({ token, settings }, { validAfter: time });
    expect(await facilitatorOf(access).verify(early, never)).toMatchObject({
      valid: false,
      reason: 'invalid_exact_evm_payload_authorization_valid_after',
    });
    const late = await pay({ token, settings }, { validBefore: time });
    expect(await facilitatorOf(access).settle(late, never)).toMatchObject({
      outcome: 'failed',
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
  });
});

describe('a chain whose clock is 120 s behind', () => {
  it('takes payments, and says by its own clock what is not yet valid', async () => {
    const late = await LocalNode.start({ chainId: 84_532, clockOffsetS: -120 });
    try {
      await late.fund(privateKeyToAddress(feePayerKey));
      const { token, settings, access } = await setUp({ on: late });
      const now = Math.floor(Date.now() / 1_000);
      const fresh = await pay({ token, settings }, { validAfter: now - 10 });
      expect(await facilitatorOf(access).verify(fresh, never)).toMatchObject({
        valid: false,
        message: expect.stringContaining('the time of the chain is'),
      });
      const payment = await pay({ token, settings }, { validAfter: now - 600 });
      expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'settled' });
      const unused = await access.chain.lookUp(await pay({ token, settings }), never);
      expect(unused).toMatchObject({ state: 'unused' });
      expect((unused as { chainTimeMs: number }).chainTimeMs).toBeLessThan(Date.now() - 60_000);
    } finally {
      await late.stop();
    }
  });
});

describe('the check of the settings', () => {
  it('finds nothing wrong with right ones', async () => {
    const { settings } = await setUp();
    expect(await checkPaymentNetwork(settings, { nodeClient }, never)).toEqual({ problems: [], warnings: [] });
  });

  it('names the domain of the contract', async () => {
    const { settings } = await setUp({ name: 'USDC' });
    const wrong = { ...settings, extra: { name: 'USD Coin', version: '2' } };
    const { problems } = await checkPaymentNetwork(wrong, { nodeClient }, never);
    expect(problems).toEqual([expect.stringContaining('The contract calls itself name "USDC", version "2"')]);
  });

  it.each([
    ['another chain', { network: 'eip155:1' }, 'The node is one of chain 8453'],
    ['no contract', { asset: `0x${'12'.repeat(20)}` }, 'There is no contract at the asset'],
  ])('names %s', async (_name, change, message) => {
    const { settings } = await setUp();
    const { problems } = await checkPaymentNetwork({ ...settings, ...change }, { nodeClient }, never);
    expect(problems).toEqual([expect.stringContaining(message)]);
  });

  it('warns of a fee payer without funds', async () => {
    const { settings } = await setUp();
    const poor = { ...settings, feePayerKey: generatePrivateKey() };
    const check = await checkPaymentNetwork(poor, { nodeClient }, never);
    expect(check).toEqual({ problems: [], warnings: [expect.stringContaining('has no funds for gas')] });
  });

  it('warns of a node that gives no answer', async () => {
    const { settings } = await setUp();
    const check = await checkPaymentNetwork({ ...settings, rpcUrl: 'http://127.0.0.1:9' }, { nodeClient }, never);
    expect(check).toEqual({ problems: [], warnings: [expect.stringContaining('could not be checked')] });
  });
});

/** Submits with a higher tip than the fee payer's, so that it comes first in the block. */
async function submitFirst(token: EvmContract, transfer: SignedTransfer): Promise<string> {
  const [, sender = ''] = await node.accounts();
  const { from, to, value, validAfter, validBefore, nonce } = transfer.authorization;
  const { encodeFunctionData } = await import('viem/utils');
  const data = encodeFunctionData({
    abi: token.abi.filter((item) => item.type !== 'function' || item.inputs.length !== 9),
    functionName: 'transferWithAuthorization',
    args: [from, to, ...[value, validAfter, validBefore].map(BigInt), nonce, transfer.signature],
  });
  const fees = { maxFeePerGas: '0x2540be4000', maxPriorityFeePerGas: '0x2540be4000' };
  return await node.request('eth_sendTransaction', [
    { from: sender, to: token.address, data, gas: '0x5b8d80', ...fees },
  ]);
}
