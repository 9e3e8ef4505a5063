import { createPrivateKey, sign } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperatorClient } from '#egress';
import type { PaymentExecutionNetwork } from '#platform/config';
import { generateSolanaKeyPair, type SolanaKeyPair, solanaMint, SolanaVm } from '#test/solana-vm';
import { base58Bytes, encodeBase58 } from '#accounts';
import type { SignedPayment } from '../facilitator.js';
import { checkPaymentNetwork, openPaymentNetwork } from '../payment-network.js';
import type { PaymentNetworkAccess, PaymentNetworkDependencies } from '../payment-network-access.js';
import { associatedTokenAccount, tokenProgram } from './token-account.js';

const amount = 5_000_000n;
const never = new AbortController().signal;
const network = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

let vm: SolanaVm;
let nodeClient: OperatorClient;
let payTo: string;
let feePayer: SolanaKeyPair;
let payer: SolanaKeyPair;

beforeAll(async () => {
  vm = await SolanaVm.start({ slotMs: 100 });
  nodeClient = new OperatorClient();
  feePayer = generateSolanaKeyPair();
  await vm.fund(feePayer.address);
});

afterAll(async () => {
  await Promise.all([nodeClient.close(), vm.stop()]);
});

async function setUp(
  options: {
    settleMs?: number;
    change?: Partial<PaymentExecutionNetwork>;
    client?: PaymentNetworkDependencies['nodeClient'];
  } = {},
): Promise<{ settings: PaymentExecutionNetwork; access: PaymentNetworkAccess }> {
  payTo = generateSolanaKeyPair().address;
  payer = generateSolanaKeyPair();
  await vm.openTokenAccount(payTo);
  await vm.mintTokens(payer.address, 10n * amount);
  const settings: PaymentExecutionNetwork = {
    kind: 'solana',
    network,
    asset: solanaMint,
    payTo,
    extra: { feePayer: feePayer.address },
    maxTimeoutSeconds: 300,
    rpcUrl: vm.url,
    feePayerKey: encodeBase58(feePayer.secretKey),
    confirmations: 1,
    commitment: 'confirmed',
    ...options.change,
  };
  return { settings, access: await open(settings, options) };
}

async function open(
  settings: PaymentExecutionNetwork,
  {
    settleMs = 10_000,
    client = nodeClient,
  }: { settleMs?: number; client?: PaymentNetworkDependencies['nodeClient'] } = {},
): Promise<PaymentNetworkAccess> {
  const logger = { warn: () => undefined };
  return openPaymentNetwork(settings, {
    nodeClient: client,
    sentTransactions: null as never,
    logger,
    settleMs,
    pollMs: 50,
  });
}

/** Writes and signs what the client of the protocol does: two instructions of the budget, a transfer, a memo. */
async function pay(value = amount): Promise<{ transaction: string }> {
  const { value: latest } = await vm.request<{ value: { blockhash: string } }>('getLatestBlockhash');
  const mint = solanaMint;
  const keys = [
    feePayer.address,
    payer.address,
    associatedTokenAccount({ owner: payer.address, mint }),
    associatedTokenAccount({ owner: payTo, mint }),
    mint,
    tokenProgram,
    'ComputeBudget111111111111111111111111111111',
    'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  ];
  const units = Buffer.alloc(4);
  units.writeUInt32LE(40_000);
  const tokens = Buffer.alloc(8);
  tokens.writeBigUInt64LE(value);
  const memo = Buffer.from(crypto.randomUUID());
  const message = Buffer.concat([
    Buffer.from([0x80, 2, 1, 4, keys.length]),
    ...keys.map(bytesOf),
    bytesOf(latest.blockhash),
    Buffer.from([4]),
    ...[Buffer.from([6, 0, 5, 2]), units],
    Buffer.from([6, 0, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0]),
    ...[Buffer.from([5, 4, 2, 4, 3, 1, 10, 12]), tokens, Buffer.from([6])],
    ...[Buffer.from([7, 0, memo.length]), memo],
    Buffer.from([0]),
  ]);
  const der = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(payer.secretKey.subarray(0, 32)),
  ]);
  const signature = sign(null, message, createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  const bytes = Buffer.concat([Buffer.from([2]), Buffer.alloc(64), signature, message]);
  return { transaction: bytes.toString('base64') };
}

function bytesOf(address: string): Buffer {
  return Buffer.from(base58Bytes(address, 32) ?? []);
}

function paymentOf(settings: PaymentExecutionNetwork, payload: { transaction: string }, value = amount): SignedPayment {
  return { terms: settings, amount: value, payload };
}

function facilitatorOf({ facilitator }: PaymentNetworkAccess) {
  if (!facilitator) throw new Error('there is no facilitator');
  return facilitator;
}

describe('a payment on Solana', () => {
  it('is verified, settled and found on the chain', async () => {
    const { settings, access } = await setUp();
    const payment = paymentOf(settings, await pay());
    expect(await facilitatorOf(access).verify(payment, never)).toEqual({ valid: true, payer: payer.address });
    expect(await access.chain.lookUp(payment, never)).toEqual({ state: 'unused', chainTimeMs: 0 });
    const settled = await facilitatorOf(access).settle(payment, never);
    expect(settled).toMatchObject({ outcome: 'settled' });
    const { transaction } = settled as { transaction: string };
    expect(await access.chain.lookUp(payment, never)).toEqual({ state: 'settled', transaction });
    expect(await vm.tokensOf(payTo)).toBe(amount);
  });

  it('is one transfer, however often it is settled', async () => {
    const { settings, access } = await setUp();
    const payment = paymentOf(settings, await pay());
    const settled = await Promise.all(Array.from({ length: 10 }, () => facilitatorOf(access).settle(payment, never)));
    expect(settled[0]).toMatchObject({ outcome: 'settled' });
    expect(settled).toEqual(Array.from({ length: 10 }, () => settled[0]));
    expect(await facilitatorOf(access).settle(payment, never)).toEqual(settled[0]);
    expect(await vm.tokensOf(payTo)).toBe(amount);
    expect(await facilitatorOf(access).verify(payment, never)).toMatchObject({
      valid: false,
      reason: 'duplicate_settlement',
    });
  });

  it('is mined with nine others that settle at the same time', async () => {
    const { settings, access } = await setUp();
    const payments = await Promise.all(Array.from({ length: 10 }, () => pay()));
    const settled = await Promise.all(
      payments.map((payload) => facilitatorOf(access).settle(paymentOf(settings, payload), never)),
    );
    expect(settled.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 10 }, () => 'settled'));
    expect(await vm.tokensOf(payTo)).toBe(10n * amount);
  });

  it('stays pending with its signature while the chain stands still', async () => {
    const { settings, access } = await setUp({ settleMs: 1_000 });
    const payment = paymentOf(settings, await pay());
    await vm.withhold();
    const pending = await facilitatorOf(access).settle(payment, never);
    expect(pending).toMatchObject({ outcome: 'pending', transaction: expect.stringMatching(/^[1-9A-Za-z]{64,88}$/) });
    expect(await access.chain.lookUp(payment, never)).toEqual({ state: 'unused', chainTimeMs: 0 });
    await vm.release();
    expect(await facilitatorOf(access).settle(payment, never)).toEqual({ ...pending, outcome: 'settled' });
    expect(await vm.tokensOf(payTo)).toBe(amount);
  });

  it('that was lost is unused, and over after its block hash', async () => {
    const { settings, access } = await setUp({ settleMs: 1_000 });
    const payment = paymentOf(settings, await pay());
    await vm.withhold();
    await facilitatorOf(access).settle(payment, never);
    await vm.drop();
    await vm.release();
    await vm.expireBlockhash();
    const found = await access.chain.lookUp(payment, never);
    expect(found).toMatchObject({ state: 'unused' });
    expect((found as { chainTimeMs: number }).chainTimeMs).toBeGreaterThan(1_600_000_000_000);
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'pending' });
    expect(await facilitatorOf(access).verify(payment, never)).toMatchObject({
      valid: false,
      message: expect.stringContaining('too old'),
    });
  });

  it('is found without the key of the fee payer', async () => {
    const { settings, access } = await setUp();
    const payment = paymentOf(settings, await pay());
    const watcher = await open({ ...settings, feePayerKey: null });
    expect(watcher.facilitator).toBeNull();
    expect(await watcher.chain.lookUp(payment, never)).toMatchObject({ state: 'unused' });
    const settled = await facilitatorOf(access).settle(payment, never);
    const { transaction } = settled as { transaction: string };
    await sleep(200);
    expect(await watcher.chain.lookUp(payment, never)).toEqual({ state: 'settled', transaction });
  });

  it('is refused by name without the balance', async () => {
    const { settings, access } = await setUp();
    const payment = paymentOf(settings, await pay(11n * amount), 11n * amount);
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({
      outcome: 'failed',
      message: 'The payer does not have enough of the token.',
    });
  });

  it('is refused by name when the receiver has no token account, which is not created', async () => {
    const { settings, access } = await setUp();
    payTo = generateSolanaKeyPair().address;
    const payment = paymentOf({ ...settings, payTo }, await pay());
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining(`${payTo} has no token account`),
    });
    const account = associatedTokenAccount({ owner: payTo, mint: solanaMint });
    expect(await vm.request('getAccountInfo', [account])).toMatchObject({ value: null });
  });

  it('is not signed for other terms', async () => {
    const { settings, access } = await setUp();
    const payload = await pay();
    expect(await facilitatorOf(access).settle(paymentOf(settings, payload, amount + 1n), never)).toMatchObject({
      outcome: 'failed',
      reason: 'invalid_exact_svm_payload_amount_mismatch',
    });
    expect(await access.chain.lookUp(paymentOf(settings, payload, amount + 1n), never)).toMatchObject({
      state: 'void',
    });
  });

  it('is an unknown result when the node gives no answer', async () => {
    const { settings } = await setUp();
    const down = await open({ ...settings, rpcUrl: 'http://127.0.0.1:9' });
    const payment = paymentOf(settings, await pay());
    await expect(facilitatorOf(down).verify(payment, never)).rejects.toThrow('gave no answer');
    await expect(down.chain.lookUp(payment, never)).rejects.toThrow('gave no answer');
    const silent = {
      post: async (request: Parameters<OperatorClient['post']>[0]) => {
        const answer = await nodeClient.post(request);
        if (Buffer.from(request.body ?? '').includes('sendTransaction')) throw new Error('connection lost');
        return answer;
      },
    };
    const access = await open(settings, { client: silent });
    expect(await facilitatorOf(access).settle(payment, never)).toMatchObject({ outcome: 'settled' });
  });
});

describe('the check of the settings', () => {
  it('finds nothing wrong with right ones', async () => {
    const { settings } = await setUp();
    expect(await checkPaymentNetwork(settings, { nodeClient }, never)).toEqual({ problems: [], warnings: [] });
  });

  it('names what is wrong', async () => {
    const { settings } = await setUp();
    const poor = generateSolanaKeyPair();
    const cases: [Partial<PaymentExecutionNetwork>, string][] = [
      [
        { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' },
        'The node is one of solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      ],
      [{ payTo: poor.address }, 'has no token account for'],
      [{ asset: poor.address }, 'There is no mint'],
      [{ extra: { feePayer: poor.address } }, 'offers name'],
      [{ feePayerKey: encodeBase58(poor.secretKey), extra: { feePayer: poor.address } }, 'has no SOL for fees'],
      [{ feePayerKey: encodeBase58(poor.secretKey.subarray(0, 60)) }, 'is not 64 bytes long'],
    ];
    for (const [change, message] of cases) {
      const { problems, warnings } = await checkPaymentNetwork({ ...settings, ...change }, { nodeClient }, never);
      expect([...problems, ...warnings]).toEqual([expect.stringContaining(message)]);
    }
  });

  it('warns of a node that gives no answer', async () => {
    const { settings } = await setUp();
    const check = await checkPaymentNetwork({ ...settings, rpcUrl: 'http://127.0.0.1:9' }, { nodeClient }, never);
    expect(check).toEqual({ problems: [], warnings: [expect.stringContaining('could not be checked')] });
  });
});
