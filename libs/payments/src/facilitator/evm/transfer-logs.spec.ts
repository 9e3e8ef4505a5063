import { describe, expect, it } from 'vitest';
import type { Authorization, Hex } from './authorization.js';
import { canceledTopic, type EvmLog, readAuthorizationUse, topicOfAddress, usedTopic } from './transfer-logs.js';

const asset = `0x${'aa'.repeat(20)}`;
const payer: Hex = `0x${'01'.repeat(20)}`;
const payTo: Hex = `0x${'02'.repeat(20)}`;
const other: Hex = `0x${'03'.repeat(20)}`;
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

function authorizationOf(nonce: number, value = 5n): Authorization {
  const hex: Hex = `0x${nonce.toString(16).padStart(64, '0')}`;
  return { from: payer, to: payTo, value, validAfter: 0n, validBefore: 1n, nonce: hex };
}

function log(topics: string[], data = '0x', address = asset): EvmLog {
  return { address, topics, data, transactionHash: '0x1', blockHash: '0x2' };
}

const used = (nonce: number) => log([usedTopic, topicOfAddress(payer), authorizationOf(nonce).nonce]);
const canceled = (nonce: number) => log([canceledTopic, topicOfAddress(payer), authorizationOf(nonce).nonce]);
const moved = (from: string, to: string, value: bigint, address = asset) =>
  log([transferTopic, topicOfAddress(from), topicOfAddress(to)], `0x${value.toString(16).padStart(64, '0')}`, address);

function useOf(logs: EvmLog[], nonce = 1): string {
  return readAuthorizationUse(logs, {
    asset: asset.toUpperCase().replace('0X', '0x'),
    authorization: authorizationOf(nonce),
  });
}

describe('the logs of a transaction', () => {
  it('show a transfer that belongs to the authorization', () => {
    expect(useOf([used(1), moved(payer, payTo, 5n)])).toBe('transferred');
  });

  it.each([
    ['of another amount', [used(1), moved(payer, payTo, 4n)]],
    ['of another payer', [used(1), moved(other, payTo, 5n)]],
    ['to another receiver', [used(1), moved(payer, other, 5n)]],
    ['of another token', [used(1), moved(payer, payTo, 5n, other)]],
    ['before its use', [moved(payer, payTo, 5n), used(1)]],
    ['behind a fee', [used(1), moved(payer, other, 1n), moved(payer, payTo, 5n)]],
    ['that is none', [used(1)]],
  ])('show no transfer %s', (_name, logs) => {
    expect(useOf(logs)).toBe('mismatch');
  });

  it('count a transfer for one of several authorizations only', () => {
    // The payer used nonce 1 for itself and nonce 2 for the payment, in one transaction.
    const logs = [used(1), moved(payer, payer, 5n), used(2), moved(payer, payTo, 5n)];
    expect(useOf(logs, 1)).toBe('mismatch');
    expect(useOf(logs, 2)).toBe('transferred');
    expect(useOf([used(1), used(2), moved(payer, payTo, 5n)], 1)).toBe('mismatch');
  });

  it('show that an authorization was canceled, or not there', () => {
    expect(useOf([canceled(1), used(2), moved(payer, payTo, 5n)])).toBe('canceled');
    expect(useOf([used(2), moved(payer, payTo, 5n)])).toBe('absent');
    expect(useOf([{ ...used(1), removed: true }, moved(payer, payTo, 5n)])).toBe('absent');
  });
});
