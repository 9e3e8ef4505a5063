import { type Currency, isUuid, type NanoUsd } from '#common';
import { Injectable } from '#platform/injection';
import { boundedRead, PrismaService, type RawQueries } from '#platform/prisma';
import type { ChargeLine, Pricing } from '#model-registry/manifest';
import type { BalanceBefore, JobQuote, RefusedResult, ReservableJob } from './job-quote.js';
import { verifyStatement } from './verify.sql.repository.js';

export type CreditKind = 'top_up' | 'grant' | 'revoke';

export interface Reserved {
  result: 'reserved' | 'repeated' | RefusedResult;
  /** What was reserved, or what could have been. */
  grantableNano: NanoUsd;
  balanceBefore: BalanceBefore;
}

export type CloseResult = 'settled' | 'released' | 'repeated' | 'fenced' | 'missing';

export interface Closed {
  result: CloseResult;
  chargedNano: NanoUsd | null;
  /** What was reserved; 0 without a reservation. */
  heldNano: NanoUsd;
}

/** All reservations of open jobs. */
export interface OpenReservations {
  count: number;
  heldNano: NanoUsd;
}

export interface Credited {
  result: 'posted' | 'repeated' | 'insufficient_balance';
  /** Signed as in the ledger; for a refusal, the available amount. */
  amountNano: NanoUsd;
}

/** A posted credit. */
export interface PostedCredit {
  kind: string;
  accountId: string;
  currency: Currency;
  /** Positive, also for a revocation. */
  amountNano: NanoUsd;
}

/** Spendable balance of an account at this moment. */
export interface AccountBalance {
  accountId: string;
  diemNano: NanoUsd;
  bundledNano: NanoUsd;
  usdNano: NanoUsd;
  /** Reserved by open requests, in all currencies. */
  heldNano: NanoUsd;
  /** Daily allowance from its stake. */
  diemAllowanceNano: NanoUsd;
  diemStakeNano: NanoUsd;
}

/** Open reservations, and whether any was closed in some time before. */
export interface ReservationFlow {
  open: number;
  anyClosed: boolean;
}

/** Totals of the ledger, and each way it can be broken as a count that must be zero. */
export interface VerifyReport {
  figures: {
    accounts: number;
    transactions: number;
    entries: number;
    /** Transactions that left the ledger for an archive. */
    archivedTransactions: number;
    openReservations: number;
    /** Archived charges included. */
    chargedNano: NanoUsd;
    heldNano: NanoUsd;
  };
  breaks: {
    /** Transactions whose entries do not sum to zero in a currency. */
    unbalancedTransactions: number;
    /** Sum of all entries. */
    totalNano: NanoUsd;
    negativeBalances: number;
    /**
     * Balances that differ from the sum of their entries, or whose reserved part differs from their open reservations.
     */
    wrongBalances: number;
    openReservationsWithoutOpenJob: number;
    openJobsWithoutOpenReservation: number;
    jobsChargedTwice: number;
    /** Settled reservations whose charge differs from the ledger. */
    wrongCharges: number;
    /** Keys whose charges without a reservation differ from their deleted reservations. */
    wrongRetiredCharges: number;
    /** Ledger accounts whose closing entries differ from the sum of their archived entries. */
    wrongClosings: number;
    /** Top-ups whose credits differ from what was paid, and credits of top-ups that do not exist. */
    wrongTopUps: number;
    /**
     * Keys whose spend, in total or by day, differs from the sum of their charges, or whose reserved part differs from
     * their open reservations.
     */
    wrongKeySpend: number;
  };
}

/** How a reservation is closed: with lines it is settled, without lines it is released. */
export interface ReservationClosing {
  requestId: string;
  accountId: string;
  attempt: number;
  lines: readonly ChargeLine[] | null;
}

interface ReservedRow {
  request_id: string;
  result: Reserved['result'];
  grantable_nano: bigint;
  diem_before_nano: bigint;
  usd_before_nano: bigint;
}

interface ClosedRow {
  request_id: string;
  result: CloseResult;
  charged_nano: bigint | null;
  held_nano: bigint;
}

/** How long the database may count reservations, in ms. */
const flowTimeoutMs = 2_000;

/**
 * Calls the ledger functions of the database, one statement each. Their guarantees are documented in the migration that
 * creates them. Reservations are made and closed in the transaction that opens or closes their jobs.
 */
@Injectable()
export class LedgerRepository {
  // SQL: each call is one function of the database, which locks, checks and posts in one statement.
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Reserves for each job what its quote says, in account order, so that two groups never wait for each other. The
   * results are in the order of the jobs.
   */
  async reserve(
    requests: readonly { job: ReservableJob; quote: JobQuote }[],
    transaction: RawQueries,
  ): Promise<Reserved[]> {
    const reservations = inAccountOrder(requests.map(({ job, quote }) => ({ ...job, ...amountsOf(quote) })));
    const rows = await transaction.$queryRaw<ReservedRow[]>`
      SELECT g."requestId" AS request_id, r.outcome AS result, r.grantable_nano, r.diem_before_nano, r.usd_before_nano
        FROM jsonb_to_recordset(${JSON.stringify(reservations)}::jsonb)
          AS g("requestId" text, "accountId" uuid, "apiKeyId" uuid, "modelId" text, "amountNano" bigint,
               "priceId" bigint, price jsonb),
        LATERAL ledger_reserve(g."requestId", g."accountId", g."apiKeyId", g."modelId", g."amountNano", g."priceId",
                               g.price) r`;
    const answers = new Map(rows.map((row) => [row.request_id, row]));
    return requests.map(({ job }) => reservedOf(one(answers.get(job.requestId))));
  }

  /** Settles the reservations that come with lines, and releases the others, in account order. */
  async close(closings: readonly ReservationClosing[], transaction: RawQueries): Promise<Closed[]> {
    const ordered = inAccountOrder(closings).map(({ requestId, attempt, lines }) => ({
      requestId,
      attempt,
      state: lines === null ? 'released' : 'settled',
      lines: (lines ?? []).map(({ unitPriceNano, amountNano, ...line }) => ({
        ...line,
        unitPriceNano: String(unitPriceNano),
        amountNano: String(amountNano),
      })),
    }));
    const rows = await transaction.$queryRaw<ClosedRow[]>`
      SELECT g."requestId" AS request_id, c.outcome AS result, c.charged_nano,
             COALESCE(h.diem_nano + h.bundled_nano + h.usd_nano, 0) AS held_nano
        FROM jsonb_to_recordset(${JSON.stringify(ordered)}::jsonb)
          AS g("requestId" text, attempt int, state hold_state, lines jsonb)
       CROSS JOIN LATERAL ledger_close(g."requestId", g.attempt, g.state, g.lines) c
        LEFT JOIN holds h ON h.request_id = g."requestId"`;
    const answers = new Map(rows.map((row) => [row.request_id, row]));
    return closings.map(({ requestId }) => {
      const { result, charged_nano: chargedNano, held_nano: heldNano } = one(answers.get(requestId));
      return { result, chargedNano, heldNano };
    });
  }

  /** Returns the prices at which requests were admitted; requests without a reservation are absent. */
  async findPricings(requestIds: readonly string[], transaction: RawQueries): Promise<Map<string, Pricing | null>> {
    if (requestIds.length === 0) return new Map();
    const rows = await transaction.$queryRaw<{ request_id: string; pricing: Pricing | null }[]>`
      SELECT request_id, price AS pricing FROM holds WHERE request_id = ANY (${[...requestIds]}::text[])`;
    return new Map(rows.map(({ request_id: requestId, pricing }) => [requestId, pricing]));
  }

  /** Returns what a closed request was charged; null while it is open, and without a reservation. */
  async findCharge(requestId: string): Promise<NanoUsd | null> {
    const [row] = await this.prisma.$queryRaw<{ charged_nano: NanoUsd | null }[]>`
      SELECT charged_nano FROM holds WHERE request_id = ${requestId}`;
    return row?.charged_nano ?? null;
  }

  async credit(
    kind: CreditKind,
    credit: { accountId: string; currency: Currency; amountNano: NanoUsd; reference: string | null; note: string },
  ): Promise<Credited> {
    const [row] = await this.prisma.$queryRaw<{ result: Credited['result']; amount_nano: bigint }[]>`
      SELECT outcome AS result, amount_nano FROM ledger_credit(${kind}::ledger_kind, ${credit.accountId}::uuid,
        ${credit.currency}::currency, ${credit.amountNano}::bigint, ${credit.reference}, ${credit.note})`;
    const { result, amount_nano } = one(row);
    return { result, amountNano: amount_nano };
  }

  /** Returns the credit posted under a reference; null if there is none. */
  async findCredit(reference: string): Promise<PostedCredit | null> {
    const [row] = await this.prisma.$queryRaw<PostedCredit[]>`
      SELECT t.kind::text AS kind, t.account_id::text AS "accountId", e.currency::text AS currency,
             abs(e.amount_nano) AS "amountNano"
        FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id
        JOIN ledger_accounts a ON a.id = e.ledger_account_id AND a.account_id IS NOT NULL
       WHERE t.reference = ${reference}`;
    return row ?? null;
  }

  /** Resolves to the daily allowance. */
  async setStake(accountId: string, stakeNano: NanoUsd): Promise<NanoUsd> {
    const [row] = await this.prisma.$queryRaw<{ allowance: bigint }[]>`
      SELECT ledger_set_stake(${accountId}::uuid, ${stakeNano}::bigint) AS allowance`;
    return one(row).allowance;
  }

  /** Returns the balance that can be spent now; expired DIEM are not counted even before they are booked. */
  async balance(accountId: string): Promise<AccountBalance | null> {
    if (!isUuid(accountId)) return null;
    const [row] = await this.prisma.$queryRaw<AccountBalance[]>`
      SELECT account_id::text AS "accountId",
             CASE WHEN diem_epoch >= ledger_today() THEN diem_nano - diem_held_nano
                  ELSE ledger_allowance(diem_stake_nano) END AS "diemNano",
             bundled_nano - bundled_held_nano AS "bundledNano", usd_nano - usd_held_nano AS "usdNano",
             diem_held_nano + bundled_held_nano + usd_held_nano AS "heldNano",
             ledger_allowance(diem_stake_nano) AS "diemAllowanceNano", diem_stake_nano AS "diemStakeNano"
        FROM balances JOIN accounts ON accounts.id = balances.account_id WHERE account_id = ${accountId}::uuid`;
    return row ?? null;
  }

  async openReservations(): Promise<OpenReservations> {
    const [row] = await this.prisma.$queryRaw<OpenReservations[]>`
      SELECT count(*)::int AS count,
             COALESCE(sum(diem_nano + bundled_nano + usd_nano), 0)::bigint AS "heldNano"
        FROM holds WHERE state = 'open'`;
    return one(row);
  }

  /** Rejects with `REQUEST_TIMEOUT` when the database takes too long. */
  async reservationFlow(windowMs: number): Promise<ReservationFlow> {
    const rows = await boundedRead(
      this.prisma,
      { owner: null, timeoutMs: flowTimeoutMs },
      (transaction) =>
        transaction.$queryRaw<ReservationFlow[]>`
      SELECT (SELECT count(*)::int FROM holds WHERE state = 'open') AS open,
             EXISTS (SELECT 1 FROM jobs j JOIN holds h ON h.request_id = j.request_id
                      WHERE j.finished_at > now() - ${windowMs}::float8 * interval '1 ms' AND h.state <> 'open')
               AS "anyClosed"`,
    );
    return one(rows[0]);
  }

  async verify(): Promise<VerifyReport> {
    const [row] = await this.prisma.$queryRaw<[{ report: VerifyReport }]>(verifyStatement);
    return withBigints(one(row).report);
  }
}

function amountsOf({ amountNano, price }: JobQuote) {
  return { amountNano: String(amountNano), priceId: price.id === null ? null : String(price.id), price: price.pricing };
}

function reservedOf(row: ReservedRow): Reserved {
  const balanceBefore = { diemNano: row.diem_before_nano, usdNano: row.usd_before_nano };
  return { result: row.result, grantableNano: row.grantable_nano, balanceBefore };
}

/** The functions lock accounts in the given order: all groups must use one order. */
function inAccountOrder<Item extends { accountId: string }>(items: readonly Item[]): Item[] {
  return items.toSorted((left, right) =>
    left.accountId < right.accountId ? -1 : left.accountId > right.accountId ? 1 : 0,
  );
}

/** JSON carries amounts as text; a number would lose its last digits. */
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
