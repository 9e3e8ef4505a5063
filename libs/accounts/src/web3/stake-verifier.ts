/** Who may mint keys with a wallet: those who have staked, however little. */
export abstract class StakeVerifier {
  /** `address` in lower case. Rejects when the answer cannot be had. */
  abstract hasStake(address: string): Promise<boolean>;
}

/** Addresses that count as staked by the operator's word; others are asked of `next`, and without one have no stake. */
export class AllowListedStakes implements StakeVerifier {
  private readonly allowed: Set<string>;

  constructor(
    addresses: readonly string[],
    private readonly next: StakeVerifier | null = null,
  ) {
    this.allowed = new Set(addresses.map((address) => address.toLowerCase()));
  }

  async hasStake(address: string): Promise<boolean> {
    if (this.allowed.has(address)) return true;
    return this.next === null ? false : await this.next.hasStake(address);
  }
}
