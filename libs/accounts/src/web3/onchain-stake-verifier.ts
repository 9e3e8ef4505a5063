import type { Address, Client, HttpTransport } from 'viem';
import type { StakeVerifier } from './stake-verifier.js';

const timeoutMs = 5_000;

/** Where stakes are recorded. */
export interface StakeContract {
  /** JSON-RPC endpoint of a node of the chain. */
  rpcUrl: string;
  /** A contract whose `balanceOf(address)` is the stake of an address, as staking tokens implement it. */
  contract: string;
}

/** Queries the chain: two attempts of 5 s. viem is loaded on the first query, since most processes never make one. */
export class OnchainStakeVerifier implements StakeVerifier {
  private client: Client<HttpTransport> | null = null;

  constructor(private readonly stakes: StakeContract) {}

  async hasStake(address: string): Promise<boolean> {
    const { createClient, http, parseAbi } = await import('viem');
    const { readContract } = await import('viem/actions');
    this.client ??= createClient({ transport: http(this.stakes.rpcUrl, { timeout: timeoutMs, retryCount: 1 }) });
    const staked = await readContract(this.client, {
      address: this.stakes.contract as Address,
      abi: parseAbi(['function balanceOf(address owner) view returns (uint256)']),
      functionName: 'balanceOf',
      args: [address as Address],
    });
    return staked > 0n;
  }
}
