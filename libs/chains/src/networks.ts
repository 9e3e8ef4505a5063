import { type RpcNetworkName, rpcNetworkNames } from '#platform/config';

/** Networks of one family take the same calls, apart from the groups that some of them add. */
export type ChainFamily = 'evm' | 'solana' | 'starknet';

/** Methods that only some networks have, by their prefix. */
export type MethodGroup = 'arbtrace' | 'bor' | 'linea' | 'zks';

export interface RpcNetwork {
  name: RpcNetworkName;
  family: ChainFamily;
  /** What a node of this network names itself: the chain id in decimal digits, or its text; Solana: the genesis hash. */
  chainId: string;
  /** About how long a block takes, in ms. */
  blockMs: number;
  /** Credits of a call of the lowest tier. */
  baseCredits: number;
  groups: readonly MethodGroup[];
}

type NetworkFacts = Omit<RpcNetwork, 'name'>;

const evm = (chainId: number, blockMs: number, groups: MethodGroup[] = []): NetworkFacts => ({
  family: 'evm',
  chainId: String(chainId),
  blockMs,
  baseCredits: 20,
  groups,
});
const zksync = (chainId: number): NetworkFacts => ({ ...evm(chainId, 1_000, ['zks']), baseCredits: 30 });
const solana = (chainId: string): NetworkFacts => ({
  family: 'solana',
  chainId,
  blockMs: 400,
  baseCredits: 30,
  groups: [],
});
const starknet = (chainId: string): NetworkFacts => ({
  family: 'starknet',
  chainId,
  blockMs: 6_000,
  baseCredits: 20,
  groups: [],
});

const facts: Record<RpcNetworkName, NetworkFacts> = {
  'arbitrum-mainnet': evm(42_161, 250, ['arbtrace']),
  'arbitrum-sepolia': evm(421_614, 250, ['arbtrace']),
  'avalanche-fuji': evm(43_113, 1_700),
  'avalanche-mainnet': evm(43_114, 1_700),
  'base-mainnet': evm(8_453, 2_000),
  'base-sepolia': evm(84_532, 2_000),
  'bsc-mainnet': evm(56, 750),
  'bsc-testnet': evm(97, 750),
  'ethereum-holesky': evm(17_000, 12_000),
  'ethereum-mainnet': evm(1, 12_000),
  'ethereum-sepolia': evm(11_155_111, 12_000),
  'linea-mainnet': evm(59_144, 2_000, ['linea']),
  'linea-sepolia': evm(59_141, 2_000, ['linea']),
  'optimism-mainnet': evm(10, 2_000),
  'optimism-sepolia': evm(11_155_420, 2_000),
  'polygon-amoy': evm(80_002, 2_000, ['bor']),
  'polygon-mainnet': evm(137, 2_000, ['bor']),
  'robinhood-mainnet': evm(4_663, 250, ['arbtrace']),
  'robinhood-testnet': evm(46_630, 250, ['arbtrace']),
  'solana-devnet': solana('EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'),
  'solana-mainnet': solana('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'),
  'starknet-mainnet': starknet('SN_MAIN'),
  'starknet-sepolia': starknet('SN_SEPOLIA'),
  'zksync-mainnet': zksync(324),
  'zksync-sepolia': zksync(300),
};

/** Every network, sorted by name. */
export const rpcNetworks: readonly RpcNetwork[] = rpcNetworkNames.map((name) => ({ name, ...facts[name] }));

const byName = new Map<string, RpcNetwork>(rpcNetworks.map((network) => [network.name, network]));

export function findNetwork(name: string): RpcNetwork | null {
  return byName.get(name) ?? null;
}
