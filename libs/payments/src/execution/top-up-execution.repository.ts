import { randomUUID } from 'node:crypto';
import { WalletsRepository } from '#accounts';
import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import type { SignedPayment } from '../facilitator/facilitator.js';
import type { TopUpState } from '../top-ups/top-up.js';
import type { StoredPayment } from '../top-ups/top-ups.repository.js';

/** A row that this process works on until its lease ends. */
export interface ClaimedTopUp {
  id: string;
  leaseId: string;
  network: string;
  payer: string;
  state: TopUpState;
  accountId: string | null;
  transaction: string | null;
  payment: SignedPayment;
  settles: number;
  /** A call of `settle` began and is not known to have ended: the process died, or the call goes on. */
  isSettling: boolean;
  /** Looks at it in this state, this one included. */
  looks: number;
  validUntilMs: number;
  /** Time since the row was written or, for a settled one, since it was credited, in ms. */
  ageMs: number;
}

type ClaimedRow = Omit<ClaimedTopUp, 'payment' | 'leaseId'> & { payment: StoredPayment };

export interface EndedBecause {
  reason: string;
  message: string;
}

const transactionLimits = { maxWait: 5_000, timeout: 10_000 };

/** Changes the rows of top-ups. A change is made only while the row is leased by who makes it, or is idempotent. */
@Injectable()
export class TopUpExecutionRepository {
  // SQL: states are compared and set in one statement, by the database's clock.
  constructor(
    private readonly prisma: PrismaService,
    private readonly wallets: WalletsRepository,
  ) {}

  /** Leases rows of these networks that are due, the longest due first. Other processes skip them until the lease ends. */
  async claim({
    networks,
    rows,
    leaseMs,
  }: {
    networks: string[];
    rows: number;
    leaseMs: number;
  }): Promise<ClaimedTopUp[]> {
    const leaseId = randomUUID();
    const claimed = await this.prisma.$queryRaw<ClaimedRow[]>`
      UPDATE top_ups SET lease_id = ${leaseId}::uuid, looks = looks + 1,
             leased_until = clock_timestamp() + ${leaseMs}::float8 * interval '1 ms'
       WHERE id IN (SELECT id FROM top_ups
                     WHERE next_look_at <= clock_timestamp() AND network = ANY (${networks}::text[])
                       AND (leased_until IS NULL OR leased_until < clock_timestamp()) AND payer IS NOT NULL
                     ORDER BY next_look_at LIMIT ${rows} FOR UPDATE SKIP LOCKED)
      RETURNING id::text AS id, network, payer, state::text AS state, account_id::text AS "accountId", transaction, payment,
                settles, settle_began_at IS NOT NULL AND settle_ended_at IS NULL AS "isSettling", looks,
                (extract(epoch FROM valid_until) * 1000)::float8 AS "validUntilMs",
                (extract(epoch FROM clock_timestamp() - CASE state WHEN 'settled' THEN ended_at ELSE created_at END)
                  * 1000)::float8 AS "ageMs"`;
    return claimed.map(({ payment, ...row }) => ({
      ...row,
      leaseId,
      payment: { ...payment, amount: BigInt(payment.amount) },
    }));
  }

  async renew({ id, leaseId }: ClaimedTopUp, leaseMs: number): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE top_ups SET leased_until = clock_timestamp() + ${leaseMs}::float8 * interval '1 ms'
       WHERE id = ${id}::uuid AND lease_id = ${leaseId}::uuid`;
  }

  /**
   * Marks a payment as possibly sent, before it is, and gives it the account of its payer. Resolves to false when
   * another process has it.
   */
  async beginSettling({ id, leaseId, payer }: ClaimedTopUp): Promise<boolean> {
    return this.prisma.$transaction(async (transaction) => {
      const accountId = await this.wallets.accountOf(transaction, payer);
      const count = await transaction.$executeRaw`
        UPDATE top_ups SET state = 'pending', account_id = ${accountId}::uuid, settles = settles + 1, looks = 0,
               settle_began_at = clock_timestamp(), settle_ended_at = NULL
         WHERE id = ${id}::uuid AND lease_id = ${leaseId}::uuid AND state IN ('authorized', 'pending')`;
      return count === 1;
    }, transactionLimits);
  }

  /** Records that a call of `settle` has returned or thrown, and the transaction if it named one. */
  async endSettling({ id, leaseId }: ClaimedTopUp, transaction: string | null): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE top_ups SET settle_ended_at = clock_timestamp(), transaction = COALESCE(${transaction}, transaction)
       WHERE id = ${id}::uuid AND lease_id = ${leaseId}::uuid AND state = 'pending'`;
  }

  /** Credits a payment that the chain shows, whatever is known of it otherwise; once. */
  async settle(
    { id, payer }: Pick<ClaimedTopUp, 'id' | 'payer'>,
    transaction: string,
  ): Promise<'settled' | 'repeated'> {
    return this.prisma.$transaction(async (database) => {
      const accountId = await this.wallets.accountOf(database, payer);
      await database.$executeRaw`
        UPDATE top_ups SET account_id = ${accountId}::uuid WHERE id = ${id}::uuid AND account_id IS NULL`;
      const [row] = await database.$queryRaw<{ result: string }[]>`
        SELECT top_up_settle(${id}::uuid, ${transaction}) AS result`;
      if (row?.result === 'settled' || row?.result === 'repeated') return row.result;
      throw new Error(`The top-up ${id} does not exist.`);
    }, transactionLimits);
  }

  /** Takes a credit back whose transfer has left the chain; resolves to the amount, or null if it is not credited. */
  async reverse({ id }: Pick<ClaimedTopUp, 'id'>): Promise<bigint | null> {
    const [row] = await this.prisma.$queryRaw<{ taken: bigint | null }[]>`
      SELECT top_up_reverse(${id}::uuid) AS taken`;
    return row?.taken ?? null;
  }

  /**
   * Ends a payment as failed. Its authorization may still be valid: with `isWatched`, the chain is asked again when it
   * has ended. An identifier is free again if nothing was sent.
   */
  async fail({ id, leaseId }: ClaimedTopUp, { reason, message }: EndedBecause, isWatched: boolean): Promise<boolean> {
    const count = await this.prisma.$executeRaw`
      UPDATE top_ups SET state = 'failed', reason = ${reason}, message = ${message}, ended_at = clock_timestamp(),
             looks = 0, lease_id = NULL, leased_until = NULL,
             identifier = CASE WHEN settles = 0 THEN NULL ELSE identifier END,
             next_look_at = CASE WHEN ${isWatched} THEN valid_until + interval '1 minute' END
       WHERE id = ${id}::uuid AND lease_id = ${leaseId}::uuid AND state IN ('authorized', 'pending')`;
    return count === 1;
  }

  async expire({ id, leaseId }: ClaimedTopUp): Promise<boolean> {
    const count = await this.prisma.$executeRaw`
      UPDATE top_ups SET state = 'expired', ended_at = clock_timestamp(), next_look_at = NULL, lease_id = NULL,
             leased_until = NULL
       WHERE id = ${id}::uuid AND lease_id = ${leaseId}::uuid AND state IN ('authorized', 'pending')`;
    return count === 1;
  }

  /** Looks again after `delayMs`; null: never. `isNews`: this look said something, so that counting starts again. */
  async release({ id, leaseId }: ClaimedTopUp, delayMs: number | null, { isNews = false } = {}): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE top_ups SET lease_id = NULL, leased_until = NULL, looks = CASE WHEN ${isNews} THEN 0 ELSE looks END,
             next_look_at = clock_timestamp() + ${delayMs}::float8 * interval '1 ms'
       WHERE id = ${id}::uuid AND lease_id = ${leaseId}::uuid`;
  }

  /**
   * Deletes payments that ended without a credit long ago, and what repeats of settled ones would be answered with after
   * a day: a settled payload is public. Resolves to the number of changed rows.
   */
  async clean(rows: number): Promise<number> {
    const forgotten = await this.prisma.$executeRaw`
      UPDATE top_ups SET answer = NULL, balance_nano = NULL, payment = NULL WHERE id IN (
        SELECT id FROM top_ups WHERE state = 'settled' AND next_look_at IS NULL AND balance_nano IS NOT NULL
           AND ended_at < clock_timestamp() - interval '1 day' LIMIT ${rows} FOR UPDATE SKIP LOCKED)`;
    const deleted = await this.prisma.$executeRaw`
      DELETE FROM top_ups WHERE id IN (
        SELECT id FROM top_ups WHERE state IN ('failed', 'expired') AND next_look_at IS NULL AND postings = 0
           AND created_at < clock_timestamp() - interval '30 days' LIMIT ${rows} FOR UPDATE SKIP LOCKED)`;
    return forgotten + deleted;
  }
}
