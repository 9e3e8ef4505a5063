/** Reads stakes from a chain. */
export interface StakeReader {
  /** `address` is lower case; the stake is in base units of the contract. Rejects when the chain does not say. */
  stakeOf(address: string): Promise<bigint>;
}

/** Takes the stake of an account: its allowance of DIEM per day. The process provides it. */
export abstract class StakeLedger {
  /** Changes today's allowance at once; resolves to it. */
  abstract setStake(accountId: string, stakeNano: bigint): Promise<bigint>;
}

/** Where stakes are recorded. */
export interface StakeContract {
  /** JSON-RPC endpoint of a node of the chain. */
  rpcUrl: string;
  /** A contract whose `balanceOf(address)` is the stake of an address, as staking tokens implement it. */
  contract: string;
}

/** What stakes give. */
export interface StakeTerms {
  /** Decimals of the contract's balances. */
  decimals: number;
  /** Allowance per day of one token. */
  diemNanoPerToken: bigint;
}
