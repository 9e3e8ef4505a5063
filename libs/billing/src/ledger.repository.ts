import type { Currency, NanoUsd } from '#common';
import { Prisma, type PrismaService } from '#platform/prisma';
import type { ChargeLine } from './charge-line.js';
import type { BalanceBefore, JobQuote, RefusedOutcome, ReservableJob } from './job-quote.js';
import type { Pricing } from './pricing.js';
import { verifyStatement } from './verify.sql.repository.js';

export type CreditKind = 'top_up' | 'grant' | 'revoke';

export interface Reserved {
  outcome: 'reserved' | 'repeated' | RefusedOutcome;
  /** What was reserved, or could have been. */
  grantableNano: NanoUsd;
  balanceBefore: BalanceBefore;
}

export type CloseOutcome = 'settled' | 'released' | 'repeated' | 'fenced' | 'missing';

export interface Closed {
  outcome: CloseOutcome;
  chargedNano: NanoUsd | null;
}

export interface Credited {
  outcome: 'posted' | 'repeated' | 'insufficient_balance';
  /** Signed as it stands in the ledger; what is free, when that does not suffice. */
  amountNano: NanoUsd;
}

/** What an account can spend at this moment. */
export interface AccountBalance {
  accountId: string;
  diemNano: NanoUsd;
  bundledNano: NanoUsd;
  usdNano: NanoUsd;
  /** Reserved by open requests, in all currencies. */
  heldNano: NanoUsd;
  /** What its stake gives per day. */
  diemAllowanceNano: NanoUsd;
  diemStakeNano: NanoUsd;
}

export interface LedgerLine {
  transactionId: bigint;
  kind: string;
  currency: Currency;
  amountNano: NanoUsd;
  sku: string | null;
  requestId: string | null;
  note: string;
  createdAt: Date;
}

/** Figures of the whole ledger, and every way in which it could be broken as a count that has to be zero. */
export interface VerifyReport {
  figures: {
    accounts: number;
    transactions: number;
    entries: number;
    openHolds: number;
    chargedNano: NanoUsd;
    heldNano: NanoUsd;
  };
  breaks: {
    /** Transactions whose entries do not sum to zero in a currency. */
    unbalancedTransactions: number;
    /** Sum of all entries. */
    totalNano: NanoUsd;
    negativeBalances: number;
    /** Balances that are not the sum of their entries, or whose held part is not that of their open holds. */
    wrongBalances: number;
    openHoldsWithoutOpenJob: number;
    openJobsWithoutOpenHold: number;
    jobsChargedTwice: number;
    /** Settled holds whose charge is not the one in the ledger. */
    wrongCharges: number;
    /** Keys whose spend, in all or by day, is not the sum of their charges, or whose held part not that of open holds. */
    wrongKeySpend: number;
  };
}

type Queries = PrismaService | Prisma.TransactionClient;

/** The ledger's functions, one statement each. What they promise stands in the migration that makes them. */
export class LedgerRepository {
  constructor(private readonly queries: Queries) {}

  async reserve(job: ReservableJob, { amountNano, price }: JobQuote): Promise<Reserved> {
    const [row] = await this.queries.$queryRaw<
      { outcome: Reserved['outcome']; grantable_nano: bigint; diem_before_nano: bigint; usd_before_nano: bigint }[]
    >`
      SELECT * FROM ledger_reserve(${job.requestId}, ${job.accountId}::uuid, ${job.apiKeyId}::uuid, ${job.modelId},
        ${amountNano}::bigint, ${price.id}::bigint, ${price.pricing === null ? null : JSON.stringify(price.pricing)}::jsonb)`;
    const { outcome, grantable_nano, diem_before_nano, usd_before_nano } = one(row);
    const balanceBefore = { diemNano: diem_before_nano, usdNano: usd_before_nano };
    return { outcome, grantableNano: grantable_nano, balanceBefore };
  }

  async settle(requestId: string, attempt: number, lines: readonly ChargeLine[]): Promise<Closed> {
    const json = lines.map(({ unitPriceNano, amountNano, ...line }) => ({
      ...line,
      unitPriceNano: String(unitPriceNano),
      amountNano: String(amountNano),
    }));
    return this.close(requestId, attempt, 'settled', JSON.stringify(json));
  }

  async release(requestId: string, attempt: number): Promise<Closed> {
    return this.close(requestId, attempt, 'released', '[]');
  }

  /** The price a request was admitted at; null when it has no hold. */
  async findHold(requestId: string): Promise<{ pricing: Pricing | null } | null> {
    const [row] = await this.queries.$queryRaw<{ pricing: Pricing | null }[]>`
      SELECT price AS pricing FROM holds WHERE request_id = ${requestId}`;
    return row ?? null;
  }

  /** What a closed request was charged; null while it is open, and for one that had no hold. */
  async findCharge(requestId: string): Promise<NanoUsd | null> {
    const [row] = await this.queries.$queryRaw<{ charged_nano: NanoUsd | null }[]>`
      SELECT charged_nano FROM holds WHERE request_id = ${requestId}`;
    return row?.charged_nano ?? null;
  }

  async credit(
    kind: CreditKind,
    credit: { accountId: string; currency: Currency; amountNano: NanoUsd; reference: string | null; note: string },
  ): Promise<Credited> {
    const [row] = await this.queries.$queryRaw<{ outcome: Credited['outcome']; amount_nano: bigint }[]>`
      SELECT outcome, amount_nano FROM ledger_credit(${kind}::ledger_kind, ${credit.accountId}::uuid,
        ${credit.currency}::currency, ${credit.amountNano}::bigint, ${credit.reference}, ${credit.note})`;
    const { outcome, amount_nano } = one(row);
    return { outcome, amountNano: amount_nano };
  }

  /** Resolves to the allowance per day. */
  async setStake(accountId: string, stakeNano: NanoUsd): Promise<NanoUsd> {
    const [row] = await this.queries.$queryRaw<{ allowance: bigint }[]>`
      SELECT ledger_set_stake(${accountId}::uuid, ${stakeNano}::bigint) AS allowance`;
    return one(row).allowance;
  }

  /** What can be spent now; DIEM of another day are not, although nobody has booked that yet. */
  async balance(accountId: string): Promise<AccountBalance | null> {
    const [row] = await this.queries.$queryRaw<AccountBalance[]>`
      SELECT account_id::text AS "accountId",
             CASE WHEN diem_epoch >= ledger_today() THEN diem_nano - diem_held_nano
                  ELSE ledger_allowance(diem_stake_nano) END AS "diemNano",
             bundled_nano - bundled_held_nano AS "bundledNano", usd_nano - usd_held_nano AS "usdNano",
             diem_held_nano + bundled_held_nano + usd_held_nano AS "heldNano",
             ledger_allowance(diem_stake_nano) AS "diemAllowanceNano", diem_stake_nano AS "diemStakeNano"
        FROM balances JOIN accounts ON accounts.id = balances.account_id WHERE account_id::text = ${accountId}`;
    return row ?? null;
  }

  /** A customer's entries, newest first. */
  async entries(accountId: string, limit: number): Promise<LedgerLine[]> {
    return this.queries.$queryRaw<LedgerLine[]>`
      SELECT t.id AS "transactionId", t.kind::text AS kind, e.currency::text AS currency, e.amount_nano AS "amountNano",
             e.sku, t.request_id AS "requestId", t.note, t.created_at AS "createdAt"
        FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id
       WHERE e.ledger_account_id IN (SELECT id FROM ledger_accounts WHERE account_id::text = ${accountId})
       ORDER BY e.created_at DESC, e.id DESC LIMIT ${limit}::int`;
  }

  async verify(): Promise<VerifyReport> {
    const [row] = await this.queries.$queryRaw<[{ report: VerifyReport }]>(verifyStatement);
    return withBigints(one(row).report);
  }

  private async close(requestId: string, attempt: number, state: string, lines: string): Promise<Closed> {
    const [row] = await this.queries.$queryRaw<{ outcome: CloseOutcome; charged_nano: bigint | null }[]>`
      SELECT * FROM ledger_close(${requestId}, ${attempt}::int, ${state}::hold_state, ${lines}::jsonb)`;
    const { outcome, charged_nano } = one(row);
    return { outcome, chargedNano: charged_nano };
  }
}

/** JSON carries sums as text; a number would lose its last digits. */
function withBigints({ figures, breaks }: VerifyReport): VerifyReport {
  return {
    figures: { ...figures, chargedNano: BigInt(figures.chargedNano), heldNano: BigInt(figures.heldNano) },
    breaks: { ...breaks, totalNano: BigInt(breaks.totalNano) },
  };
}

function one<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('The database did not answer a ledger function.');
  return row;
}
