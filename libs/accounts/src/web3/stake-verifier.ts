/** Decides who may create keys with a wallet: addresses with any stake. */
export abstract class StakeVerifier {
  /** `address` is lower case. Rejects when the stake cannot be determined. */
  abstract hasStake(address: string): Promise<boolean>;
}

/** Accepts addresses that the operator lists; asks `next` about others, which have no stake without it. */
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
