import type { Address, Client, HttpTransport } from 'viem';
import type { StakeContract, StakeReader } from './stake-reader.js';

const timeoutMs = 5_000;

/** Queries the chain: two attempts of 5 s. viem is loaded on the first query, since most processes never make one. */
export class OnchainStakes implements StakeReader {
  private client: Client<HttpTransport> | null = null;

  constructor(private readonly contract: StakeContract) {}

  async stakeOf(address: string): Promise<bigint> {
    const { createClient, http, parseAbi } = await import('viem');
    const { readContract } = await import('viem/actions');
    this.client ??= createClient({ transport: http(this.contract.rpcUrl, { timeout: timeoutMs, retryCount: 1 }) });
    return await readContract(this.client, {
      address: this.contract.contract as Address,
      abi: parseAbi(['function balanceOf(address owner) view returns (uint256)']),
      functionName: 'balanceOf',
      args: [address as Address],
    });
  }
}
