import { parseNanos } from '#common';
import { IntegerVariable, TextVariable } from './variable.js';

/* Variables of stakes (docs/guides/api-keys.md): the api lets wallets with a stake create keys, ops reads stakes again. */

/** Where stakes are recorded, and what they give. */
export interface StakeSettings {
  /** JSON-RPC endpoint of a node of the chain; holds a key, as a rule. */
  rpcUrl: string;
  /** A contract whose `balanceOf(address)` is the stake of an address, as staking tokens implement it. */
  contract: string;
  /** Decimals of that balance. */
  decimals: number;
  /** What one token gives per day. */
  diemNanoPerToken: bigint;
}

/** Properties that the decorators below set. */
export interface StakeVariables {
  stakeRpcUrl?: string;
  stakeContractAddress?: string;
  stakeDecimals: number;
  stakeDiem: string;
}

export const StakeRpcUrl = (): PropertyDecorator =>
  TextVariable('SLUICE_STAKE_RPC_URL', {
    about: 'JSON-RPC endpoint of the chain on which wallets stake.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
    secret: true,
  });

export const StakeContractAddress = (): PropertyDecorator =>
  TextVariable('SLUICE_STAKE_CONTRACT', {
    about: 'Contract whose `balanceOf(address)` is the stake of a wallet.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}$/,
    expected: '0x and 40 hex digits',
  });

export const StakeDecimals = (): PropertyDecorator =>
  IntegerVariable('SLUICE_STAKE_DECIMALS', {
    about: 'Decimals of the balances of that contract.',
    default: 18,
    min: 0,
    max: 36,
  });

export const StakeDiem = (): PropertyDecorator =>
  TextVariable('SLUICE_STAKE_DIEM', {
    about: 'DIEM per day for one staked token; 0: stakes only allow keys.',
    default: '1',
    pattern: /^\d{1,6}(\.\d{1,9})?$/,
    expected: 'a decimal such as 0.5, below a million',
  });

/** Null without a contract. */
export function stakeSettingsOf(variables: StakeVariables): StakeSettings | null {
  const { stakeRpcUrl: rpcUrl, stakeContractAddress: contract, stakeDecimals: decimals, stakeDiem } = variables;
  if (rpcUrl === undefined || contract === undefined) return null;
  return { rpcUrl, contract, decimals, diemNanoPerToken: parseNanos(stakeDiem) ?? 0n };
}
