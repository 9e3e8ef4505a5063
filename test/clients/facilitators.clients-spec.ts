import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperatorClient } from '#egress';
import { openPaymentNodes, type PaymentNode, SentTransactionsRepository } from '#payments/execution';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import {
  deployToken,
  type EvmContract,
  mintTokens,
  type SignedTransfer,
  signTransfer,
  submitTransfer,
} from '#test/evm-contracts';
import { EvmNode } from '#test/evm-node';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

/* Our facilitator and that of the protocol's packages verify the same payments on the same chain. */

const payer = privateKeyToAccount(generatePrivateKey());
const payTo = privateKeyToAddress(generatePrivateKey());
const feePayerKey = generatePrivateKey();
const network = 'eip155:8453';
const extra = { name: 'USD Coin', version: '2' };
const value = 5_000_000n;

let node: EvmNode;
let database: TestDatabase;
let prisma: PrismaService;
let client: OperatorClient;
let token: EvmContract;
let ours: PaymentNode;

beforeAll(async () => {
  [node, database] = await Promise.all([EvmNode.start(), createMigratedDatabase()]);
  prisma = new PrismaService({ url: database.url });
  client = new OperatorClient();
  await node.fund(privateKeyToAddress(feePayerKey));
  token = await deployToken(node);
  await mintTokens(token, payer.address, 4n * value);
  const settings = { kind: 'evm' as const, network, asset: token.address, payTo, extra, maxTimeoutSeconds: 300 };
  const execution = { rpcUrl: node.url, feePayerKey, confirmations: 1, commitment: 'confirmed' as const };
  const logger = createLogger('test', { level: 'silent' });
  const networks = [{ ...settings, ...execution }];
  const sentTransactions = new SentTransactionsRepository(prisma);
  const nodes = await openPaymentNodes({ networks, facilitator: null }, { client, sentTransactions, logger });
  const opened = nodes.get(network);
  if (!opened) throw new Error('there is no node');
  ours = opened;
});

afterAll(async () => {
  await Promise.all([client.close(), node.stop(), prisma.$disconnect()]);
  await database.drop();
});

async function officialReasons(payloads: SignedTransfer[]): Promise<(string | null)[]> {
  const requirements = { scheme: 'exact', network, asset: token.address, amount: String(value), payTo, extra };
  const program = fileURLToPath(new URL('wallets/facilitator.mjs', import.meta.url));
  const settings = { rpcUrl: node.url, payloads, requirements: { ...requirements, maxTimeoutSeconds: 300 } };
  const env = { PATH: process.env.PATH ?? '', SLUICE_TEST_CLIENT: JSON.stringify(settings) };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '[]') as (string | null)[];
}

async function ourReason(payload: SignedTransfer): Promise<string | null> {
  const terms = { network, asset: token.address, payTo, extra, maxTimeoutSeconds: 300 };
  const payment = { terms, amount: value, payload: { ...payload } };
  const verification = await ours.facilitator.verify(payment, AbortSignal.timeout(30_000));
  return verification.valid ? null : verification.reason;
}

describe('the facilitator in process', () => {
  it('accepts and refuses what that of the protocol does, for the same reasons', async () => {
    const usual = { to: payTo, value };
    const now = Math.floor(Date.now() / 1_000);
    const poor = privateKeyToAccount(generatePrivateKey());
    const used = await signTransfer(token, payer, usual);
    await submitTransfer(token, used);
    const good = await signTransfer(token, payer, usual);
    const flipped = `${good.signature.slice(0, 20)}${good.signature[20] === '0' ? '1' : '0'}${good.signature.slice(21)}`;
    const payments = {
      good,
      longer: await signTransfer(token, payer, { ...usual, validBefore: now + 3_600 }),
      used,
      flipped: { ...good, signature: flipped as `0x${string}` },
      wrongName: await signTransfer(token, payer, { ...usual, domain: { name: 'USDC' } }),
      wrongVersion: await signTransfer(token, payer, { ...usual, domain: { version: '1' } }),
      wrongChain: await signTransfer(token, payer, { ...usual, domain: { chainId: 1 } }),
      wrongReceiver: await signTransfer(token, payer, { ...usual, to: poor.address }),
      wrongAmount: await signTransfer(token, payer, { ...usual, value: value + 1n }),
      ended: await signTransfer(token, payer, { ...usual, validBefore: now - 1 }),
      future: await signTransfer(token, payer, { ...usual, validAfter: now + 1_000, validBefore: now + 2_000 }),
      poor: await signTransfer(token, poor, usual),
    };
    const official = await officialReasons(Object.values(payments));
    const expected = Object.fromEntries(Object.keys(payments).map((name, index) => [name, official[index]]));
    const found: Record<string, string | null> = {};
    for (const [name, payload] of Object.entries(payments)) found[name] = await ourReason(payload);
    // Theirs asks a contract that the local chain lacks for the reason of a failed simulation.
    const simulationFailed = 'invalid_exact_evm_transaction_simulation_failed';
    expect([expected.used, expected.poor]).toEqual([simulationFailed, simulationFailed]);
    const named = { used: 'invalid_exact_evm_nonce_already_used', poor: 'invalid_exact_evm_insufficient_balance' };
    expect(found).toEqual({ ...expected, ...named });
    expect(Object.values(found).filter((reason) => reason === null)).toHaveLength(2);
  });
});
