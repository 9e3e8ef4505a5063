import { Injectable } from '#platform/injection';
import { Prisma, PrismaService } from '#platform/prisma';

type Queries = Pick<Prisma.TransactionClient, 'wallet' | 'account' | '$queryRaw'>;

/** The stake of a wallet as it was read last. */
export interface KnownStake {
  /** Base units of the contract. */
  units: bigint;
  /** By the database clock. */
  ageMs: number;
}

/** A wallet whose stake is to be read. */
export interface DueWallet {
  address: string;
  accountId: string;
}

/** What the chain said of a wallet. */
export interface StakeRead {
  address: string;
  units: bigint;
  /** Time until ops reads it again, in ms. */
  dueInMs: number;
}

/** Keeps the stakes of wallets, by the database clock, so that all processes agree on their age. */
@Injectable()
export class StakesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns null for a wallet whose stake was never read. */
  async find(address: string): Promise<KnownStake | null> {
    // SQL: Prisma cannot subtract from the clock of the database.
    const [row] = await this.prisma.$queryRaw<{ units: string; ageMs: number }[]>`
      SELECT stake_units::text AS units, (extract(epoch FROM now() - stake_read_at) * 1000)::float8 AS "ageMs"
        FROM wallets WHERE address = ${address} AND stake_read_at IS NOT NULL`;
    return row ? { units: BigInt(row.units), ageMs: row.ageMs } : null;
  }

  async save({ address, units, dueInMs }: StakeRead, queries: Queries = this.prisma): Promise<void> {
    // SQL: the clock of the database.
    await queries.$queryRaw`
      UPDATE wallets SET stake_units = ${units.toString()}::numeric, stake_read_at = now(),
                         stake_due_at = now() + ${dueInMs}::float8 * interval '1 ms' WHERE address = ${address}`;
  }

  /**
   * Returns Ethereum wallets whose stake is to be read, the longest due first. No other replica gets them for
   * `claimMs`, after which they are due again unless `save` says otherwise.
   */
  async claimDue({ limit, claimMs }: { limit: number; claimMs: number }): Promise<DueWallet[]> {
    // SQL: Prisma cannot skip rows that another replica has locked.
    return await this.prisma.$queryRaw<DueWallet[]>`
      UPDATE wallets SET stake_due_at = now() + ${claimMs}::float8 * interval '1 ms'
       WHERE address IN (SELECT address FROM wallets WHERE stake_due_at <= now() AND address LIKE '0x%'
                          ORDER BY stake_due_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED)
      RETURNING address, account_id::text AS "accountId"`;
  }

  /** Returns the stakes of the wallets of an account that were read within `maxAgeMs`, in base units. */
  async unitsOfAccount(accountId: string, maxAgeMs: number): Promise<bigint[]> {
    // SQL: the clock of the database.
    const rows = await this.prisma.$queryRaw<{ units: string }[]>`
      SELECT stake_units::text AS units FROM wallets
       WHERE account_id = ${accountId}::uuid AND stake_read_at > now() - ${maxAgeMs}::float8 * interval '1 ms'`;
    return rows.map(({ units }) => BigInt(units));
  }

  /** Returns the stake that the allowance of an account follows, in nano-DIEM. */
  async grantedNano(accountId: string): Promise<bigint> {
    const account = await this.prisma.account.findUnique({
      where: { id: accountId },
      select: { diemStakeNano: true },
    });
    return account?.diemStakeNano ?? 0n;
  }
}
