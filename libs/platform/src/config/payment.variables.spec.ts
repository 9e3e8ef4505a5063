import { describe, expect, it } from 'vitest';
import { ApiConfig } from './api.config.js';
import { ConfigError, parseConfig } from './load-config.js';
import { OpsConfig } from './ops.config.js';

const common = { DATABASE_URL: 'postgresql://a@b/c', SLUICE_SECRET_KEY: '5c'.repeat(32) };
const evm = `0x${'1'.repeat(40)}`;
const rpc = 'http://node.example.org/key';
const [wallet, payer] = ['1', '2'].map((digit) => digit.repeat(32));

function problemsOf(config: new () => object, environment: Record<string, string>): string[] {
  try {
    parseConfig(config, { ...common, ...environment });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('the settings of payments', () => {
  it('offer nothing by default', () => {
    expect(parseConfig(ApiConfig, common).payments).toEqual({ networks: [], minUsd: 5, maxUsd: 10_000 });
    expect(parseConfig(OpsConfig, common).paymentExecution).toEqual({ networks: [], facilitator: null });
  });

  it('name what is wrong for the api', () => {
    expect(problemsOf(ApiConfig, { SLUICE_PAYMENT_EVM_ADDRESS: '0x12' })[0]).toContain('0x and 40 hex digits');
    expect(problemsOf(ApiConfig, { SLUICE_PAYMENT_MIN_USD: '9', SLUICE_PAYMENT_MAX_USD: '8' })).toEqual([
      'SLUICE_PAYMENT_MIN_USD is more than SLUICE_PAYMENT_MAX_USD.',
    ]);
    expect(problemsOf(ApiConfig, { SLUICE_PAYMENT_SOLANA_ADDRESS: wallet ?? '' })[0]).toContain(
      'SLUICE_PAYMENT_SOLANA_FEE_PAYER',
    );
    const same = { SLUICE_PAYMENT_SOLANA_ADDRESS: wallet ?? '', SLUICE_PAYMENT_SOLANA_FEE_PAYER: wallet ?? '' };
    expect(problemsOf(ApiConfig, same)[0]).toContain('expected two wallets');
  });

  it('ask ops for a node, and for what settles', () => {
    const address = { SLUICE_PAYMENT_EVM_ADDRESS: evm };
    expect(problemsOf(OpsConfig, address)[0]).toContain('SLUICE_PAYMENT_EVM_RPC_URL');
    const withNode = { ...address, SLUICE_PAYMENT_EVM_RPC_URL: rpc };
    expect(problemsOf(OpsConfig, withNode)[0]).toContain('SLUICE_PAYMENT_EVM_FEE_PAYER_KEY');
    expect(problemsOf(OpsConfig, { ...withNode, SLUICE_PAYMENT_FACILITATOR_URL: rpc })).toEqual([]);
    expect(problemsOf(OpsConfig, { ...withNode, SLUICE_PAYMENT_EVM_FEE_PAYER_KEY: 'ab'.repeat(32) })).toEqual([]);
    const solana = { SLUICE_PAYMENT_SOLANA_ADDRESS: wallet ?? '', SLUICE_PAYMENT_SOLANA_FEE_PAYER: payer ?? '' };
    expect(problemsOf(OpsConfig, solana)[0]).toContain('SLUICE_PAYMENT_SOLANA_RPC_URL');
  });

  it('show no key', () => {
    const key = 'not-a-key-but-secret';
    expect(problemsOf(OpsConfig, { SLUICE_PAYMENT_EVM_FEE_PAYER_KEY: key }).join()).not.toContain(key);
  });
});
