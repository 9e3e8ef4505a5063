import { PlatformError } from '#common';
import type { Prisma } from '#platform/prisma';
import type { StakeLedger, StakeReader, StakeTerms } from './stake-reader.js';
import type { StakesRepository } from './stakes.repository.js';

/** How long a stake that was found is not asked for again when a key is created, in ms. */
const freshMs = 60_000;
/** How long a stake counts while the chain does not answer, in ms. */
export const staleAfterMs = 86_400_000;
/** The largest allowance, in nano-DIEM: a billion, as for an operator. */
const largestNano = 10n ** 18n - 1n;

/** A stake as read from the chain just now; null: it was known. */
export type ReadStake = bigint | null;

export interface StakesDependencies {
  repository: StakesRepository;
  ledger: StakeLedger;
  /** Wallets that need no stake, in any case. */
  allowList: readonly string[];
  /** Null: no chain is queried. */
  terms: StakeTerms | null;
  reader: StakeReader | null;
}

/** Decides which wallets may create keys, and lets the allowance of accounts follow the stakes of their wallets. */
export class StakesService {
  private readonly allowed: ReadonlySet<string>;

  constructor(private readonly dependencies: StakesDependencies) {
    this.allowed = new Set(dependencies.allowList.map((address) => address.toLowerCase()));
  }

  /**
   * Resolves for an address (lower case) with any stake, and for those on the operator's list. A stake of the last
   * minute is not read again; without an answer of the chain, one of the last day counts. Rejects with `INVALID_REQUEST`.
   */
  async require(address: string): Promise<ReadStake> {
    if (this.allowed.has(address)) return null;
    const { reader } = this.dependencies;
    if (reader === null) throw refuse('The address has no stake.');
    const known = await this.dependencies.repository.find(address);
    const isStaked = known !== null && known.units > 0n;
    if (isStaked && known.ageMs < freshMs) return null;
    let units: bigint;
    try {
      units = await reader.stakeOf(address);
    } catch (cause) {
      if (isStaked && known.ageMs < staleAfterMs) return null;
      const message = 'The stake of the address could not be verified: the chain did not answer. Try again later.';
      throw new PlatformError('INVALID_REQUEST', message, 'address', { cause });
    }
    if (units <= 0n) throw refuse('The address has no stake.');
    return units;
  }

  /** Records a stake with the wallet. Ops reads it again soon, which makes up for an `applyTo` that fails. */
  async record(transaction: Prisma.TransactionClient, address: string, units: ReadStake): Promise<void> {
    if (units !== null) await this.dependencies.repository.save({ address, units, dueInMs: 0 }, transaction);
  }

  /** Sets the allowance of an account to what the stakes of its wallets give; stakes not read for a day give nothing. */
  async applyTo(accountId: string): Promise<void> {
    const { ledger, terms } = this.dependencies;
    if (terms === null) return;
    const units = await this.dependencies.repository.unitsOfAccount(accountId, staleAfterMs);
    const total = units.reduce((sum, one) => sum + one, 0n);
    const nano = (total * terms.diemNanoPerToken) / 10n ** BigInt(terms.decimals);
    const stakeNano = nano > largestNano ? largestNano : nano;
    if (stakeNano !== (await this.dependencies.repository.grantedNano(accountId)))
      await ledger.setStake(accountId, stakeNano);
  }
}

function refuse(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, 'address', {
    issues: [{ code: 'custom', path: ['address'], message }],
  });
}
