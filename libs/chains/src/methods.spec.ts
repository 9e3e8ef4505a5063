import { describe, expect, it } from 'vitest';
import { creditsOf, explainRefusal, findMethod } from './methods.js';
import { findNetwork, type RpcNetwork } from './networks.js';

const networkOf = (name: string) => findNetwork(name) as RpcNetwork;

describe('the methods', () => {
  it.each([
    ['ethereum-mainnet', 'eth_call', 20],
    ['ethereum-mainnet', 'eth_getLogs', 20],
    ['ethereum-mainnet', 'eth_sendRawTransaction', 20],
    ['base-mainnet', 'eth_sendUserOperation', 20],
    ['base-mainnet', 'net_version', 20],
    ['ethereum-mainnet', 'debug_traceTransaction', 40],
    ['ethereum-mainnet', 'trace_block', 40],
    ['ethereum-mainnet', 'txpool_status', 40],
    ['ethereum-mainnet', 'trace_replayTransaction', 80],
    ['ethereum-mainnet', 'txpool_content', 80],
    ['arbitrum-mainnet', 'arbtrace_call', 40],
    ['arbitrum-mainnet', 'arbtrace_replayTransaction', 80],
    ['polygon-mainnet', 'bor_getAuthor', 20],
    ['linea-sepolia', 'linea_estimateGas', 20],
    ['zksync-mainnet', 'zks_L1ChainId', 30],
    ['zksync-mainnet', 'eth_call', 30],
    ['zksync-mainnet', 'trace_block', 60],
    ['starknet-mainnet', 'starknet_call', 20],
    ['solana-devnet', 'getBalance', 30],
    ['solana-mainnet', 'getSupply', 120],
    ['solana-mainnet', 'getLargestAccounts', 120],
  ])('cost credits by network and tier: %s %s', (name, method, credits) => {
    const network = networkOf(name);
    const found = findMethod(network, method);
    expect(found && creditsOf(network, found)).toBe(credits);
  });

  it.each([
    ['eth_subscribe', 'WebSocket'],
    ['eth_unsubscribe', 'WebSocket'],
    ['logsSubscribe', 'WebSocket'],
    ['slotUnsubscribe', 'WebSocket'],
    ['eth_newFilter', 'filter'],
    ['eth_newBlockFilter', 'filter'],
    ['eth_newPendingTransactionFilter', 'filter'],
    ['eth_getFilterChanges', 'filter'],
    ['eth_getFilterLogs', 'filter'],
    ['eth_uninstallFilter', 'filter'],
    ['eth_sign', 'key'],
    ['eth_signTypedData_v4', 'key'],
    ['eth_accounts', 'key'],
    ['eth_sendTransaction', 'key'],
    ['personal_unlockAccount', 'key'],
    ['eth_mining', 'miners'],
    ['eth_hashrate', 'miners'],
    ['eth_getWork', 'miners'],
    ['eth_submitWork', 'miners'],
    ['admin_peers', 'not supported'],
    ['debug_setHead', 'not supported'],
    ['__proto__', 'not supported'],
    ['constructor', 'not supported'],
    ['getBalance', 'other networks'],
    ['starknet_call', 'other networks'],
    ['zks_L1ChainId', 'other networks'],
    ['bor_getAuthor', 'other networks'],
  ])('refuse %s on Ethereum, and say why', (method, reason) => {
    expect(findMethod(networkOf('ethereum-mainnet'), method)).toBeNull();
    expect(explainRefusal(method)).toContain(reason);
  });

  it('know which ones change the chain', () => {
    const sends = [
      ['ethereum-mainnet', 'eth_sendRawTransaction'],
      ['base-mainnet', 'eth_sendUserOperation'],
      ['solana-mainnet', 'sendTransaction'],
      ['starknet-mainnet', 'starknet_addInvokeTransaction'],
      ['zksync-mainnet', 'zks_sendRawTransactionWithDetailedOutput'],
    ] as const;
    expect(sends.map(([name, method]) => findMethod(networkOf(name), method)?.sends)).toEqual(sends.map(() => true));
    expect(findMethod(networkOf('solana-mainnet'), 'simulateTransaction')?.sends).toBe(false);
  });
});
