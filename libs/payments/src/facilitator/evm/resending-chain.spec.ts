import { describe, expect, it } from 'vitest';
import type { OnChain, SignedPayment } from '../facilitator.js';
import type { SentTransaction } from '../sent-transactions.repository.js';
import { ResendingChain } from './resending-chain.js';

const never = new AbortController().signal;
const address = `0x${'01'.repeat(20)}`;
const authorization = {
  from: address,
  to: address,
  value: '1',
  validAfter: '0',
  validBefore: '1',
  nonce: `0x${'02'.repeat(32)}`,
};
const terms = { network: 'eip155:8453', asset: address, payTo: address, extra: {}, maxTimeoutSeconds: 300 };
const payment: SignedPayment = { terms, amount: 1n, payload: { authorization, signature: '0x00' } };

function setUp(found: OnChain, isSent = true) {
  let [broadcasts, now] = [0, 1_000];
  const chain = new ResendingChain(
    { lookUp: async () => found },
    {
      find: async () => (isSent ? ({ hash: '0x1' } as SentTransaction) : null),
      broadcast: async () => {
        broadcasts += 1;
      },
    },
    () => now,
  );
  return { chain, count: () => broadcasts, pass: (ms: number) => (now += ms) };
}

describe('a chain that sends again', () => {
  it('sends what is not on the chain, at most every 5 s', async () => {
    const unused: OnChain = { state: 'unused', chainTimeMs: 5 };
    const { chain, count, pass } = setUp(unused);
    expect(await chain.lookUp(payment, never)).toBe(unused);
    await chain.lookUp(payment, never);
    expect(count()).toBe(1);
    pass(5_000);
    await chain.lookUp(payment, never);
    expect(count()).toBe(2);
  });

  it.each<[string, OnChain, boolean]>([
    ['was never sent', { state: 'unused', chainTimeMs: 5 }, false],
    ['is settled', { state: 'settled', transaction: '0x1' }, true],
    ['is void', { state: 'void', message: 'canceled' }, true],
  ])('sends nothing for a payment that %s', async (_name, found, isSent) => {
    const { chain, count } = setUp(found, isSent);
    expect(await chain.lookUp(payment, never)).toBe(found);
    expect(count()).toBe(0);
  });
});
