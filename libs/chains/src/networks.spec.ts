import * as chains from 'viem/chains';
import { describe, expect, it } from 'vitest';
import { findNetwork, rpcNetworks } from './networks.js';

describe('the networks', () => {
  it('are 25, sorted', () => {
    const names = rpcNetworks.map(({ name }) => name);
    expect(names).toHaveLength(25);
    expect(names).toEqual(names.toSorted());
    expect(findNetwork('dogecoin-mainnet')).toBeNull();
    expect(findNetwork('toString')).toBeNull();
  });

  it('have the chain ids that viem knows', () => {
    const known = {
      'arbitrum-mainnet': chains.arbitrum,
      'arbitrum-sepolia': chains.arbitrumSepolia,
      'avalanche-fuji': chains.avalancheFuji,
      'avalanche-mainnet': chains.avalanche,
      'base-mainnet': chains.base,
      'base-sepolia': chains.baseSepolia,
      'bsc-mainnet': chains.bsc,
      'bsc-testnet': chains.bscTestnet,
      'ethereum-holesky': chains.holesky,
      'ethereum-mainnet': chains.mainnet,
      'ethereum-sepolia': chains.sepolia,
      'linea-mainnet': chains.linea,
      'linea-sepolia': chains.lineaSepolia,
      'optimism-mainnet': chains.optimism,
      'optimism-sepolia': chains.optimismSepolia,
      'polygon-amoy': chains.polygonAmoy,
      'polygon-mainnet': chains.polygon,
      'robinhood-mainnet': chains.robinhood,
      'robinhood-testnet': chains.robinhoodTestnet,
      'zksync-mainnet': chains.zksync,
      'zksync-sepolia': chains.zksyncSepoliaTestnet,
    };
    const evm = rpcNetworks.filter(({ family }) => family === 'evm');
    expect(Object.fromEntries(evm.map(({ name, chainId }) => [name, chainId]))).toEqual(
      Object.fromEntries(Object.entries(known).map(([name, { id }]) => [name, String(id)])),
    );
  });
});
