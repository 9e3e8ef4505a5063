import type { NanoUsd } from '#common';
import { Inject, Injectable } from '#platform/injection';
import { Prisma, PrismaService, type RawQueries } from '#platform/prisma';
import type { SignedPayment } from '../facilitator/facilitator.js';
import type { StoredTopUp, TopUp, TopUpState } from './top-up.js';

export interface NewTopUp {
  network: string;
  payer: string;
  paymentKey: Buffer;
  payloadHash: Buffer;
  identifier: string | null;
  fingerprint: Buffer;
  amountNano: NanoUsd;
  payment: SignedPayment;
  validUntilMs: number;
}

/** Open and ended rows of one network in one state. */
export interface TopUpCount {
  network: string;
  state: TopUpState;
  count: number;
  /** Age of the oldest that is not ended, in seconds. */
  oldestSeconds: number;
}

/** Columns of a `TopUp`. */
export const topUpColumns = Prisma.sql`
  id::text AS id, network, payer, state::text AS state, amount_nano AS "amountNano", posted_nano AS "postedNano",
  account_id::text AS "accountId", transaction, balance_nano AS "balanceNano", reason, message, settles,
  created_at AS "createdAt", valid_until AS "validUntil", ended_at AS "endedAt", next_look_at AS "nextLookAt"`;

const storedColumns = Prisma.sql`${topUpColumns}, payload_hash AS "payloadHash", fingerprint, answer`;

/** The JSON of a signed payment: JSON has no big integers. */
export interface StoredPayment extends Omit<SignedPayment, 'amount'> {
  readonly amount: string;
}

/** Rows of top-ups for the api and for operators. `TopUpExecutionRepository` changes them. */
@Injectable()
export class TopUpsRepository {
  // SQL: states are compared and set in one statement, by the database's clock.
  constructor(@Inject(PrismaService) private readonly queries: RawQueries) {}

  /** Writes the row of a payment; null when there is one with its key, or with its payer and identifier. */
  async insert(topUp: NewTopUp): Promise<StoredTopUp | null> {
    const { network, payer, identifier, amountNano } = topUp;
    const [row] = await this.queries.$queryRaw<StoredTopUp[]>`
      INSERT INTO top_ups (network, payer, payment_key, payload_hash, identifier, fingerprint, amount_nano, payment, valid_until)
      VALUES (${network}, ${payer}, ${topUp.paymentKey}, ${topUp.payloadHash}, ${identifier}, ${topUp.fingerprint},
              ${amountNano}, ${jsonOf(topUp.payment)}::jsonb, to_timestamp(${topUp.validUntilMs / 1_000}::float8))
      ON CONFLICT DO NOTHING RETURNING ${storedColumns}`;
    return row === undefined ? null : asBuffers(row);
  }

  /**
   * Tries a payment again whose first payload was refused before anything was sent, with another payload. Null when that
   * is not so, or no longer.
   */
  async retry(id: string, { payloadHash, payment }: NewTopUp): Promise<StoredTopUp | null> {
    const [row] = await this.queries.$queryRaw<StoredTopUp[]>`
      UPDATE top_ups SET state = 'authorized', payload_hash = ${payloadHash}, payment = ${jsonOf(payment)}::jsonb,
             reason = NULL, message = NULL, answer = NULL, ended_at = NULL, looks = 0, created_at = clock_timestamp(),
             next_look_at = clock_timestamp(), lease_id = NULL, leased_until = NULL
       WHERE id = ${id}::uuid AND state = 'failed' AND settles = 0 AND payload_hash <> ${payloadHash}
      RETURNING ${storedColumns}`;
    return row === undefined ? null : asBuffers(row);
  }

  async find(id: string): Promise<StoredTopUp | null> {
    return this.one(Prisma.sql`id = ${id}::uuid`);
  }

  async findByKey(paymentKey: Buffer): Promise<StoredTopUp | null> {
    return this.one(Prisma.sql`payment_key = ${paymentKey}`);
  }

  async findByIdentifier(payer: string, identifier: string): Promise<StoredTopUp | null> {
    return this.one(Prisma.sql`payer = ${payer} AND identifier = ${identifier}`);
  }

  /** Stores the response of a settled top-up unless one is stored; resolves to the stored one. */
  async keepAnswer(id: string, answer: Buffer): Promise<Buffer> {
    const [row] = await this.queries.$queryRaw<{ answer: Buffer | null }[]>`
      UPDATE top_ups SET answer = COALESCE(answer, ${answer}) WHERE id = ${id}::uuid AND state = 'settled' RETURNING answer`;
    return row?.answer ?? answer;
  }

  /** Newest first; `search`: a state, or the beginning of an id, payer, account or transaction. */
  async list({ limit, search = null }: { limit: number; search?: string | null }): Promise<TopUp[]> {
    const found = Prisma.sql`state::text = ${search} OR starts_with(id::text, ${search})
      OR starts_with(account_id::text, ${search}) OR starts_with(transaction, ${search})
      OR lower(payer) = lower(${search})`;
    return this.queries.$queryRaw<TopUp[]>`
      SELECT ${topUpColumns} FROM top_ups WHERE ${search}::text IS NULL OR ${found} ORDER BY created_at DESC, id LIMIT ${limit}`;
  }

  /** Rows of the last day, and all that are not ended. */
  async counts(): Promise<TopUpCount[]> {
    return this.queries.$queryRaw<TopUpCount[]>`
      SELECT network, state::text AS state, count(*)::int AS count,
             COALESCE(max(extract(epoch FROM clock_timestamp() - created_at)) FILTER (WHERE ended_at IS NULL), 0)::float8
               AS "oldestSeconds"
        FROM top_ups WHERE next_look_at IS NOT NULL OR created_at > clock_timestamp() - interval '1 day'
       GROUP BY network, state`;
  }

  private async one(condition: Prisma.Sql): Promise<StoredTopUp | null> {
    const [row] = await this.queries.$queryRaw<StoredTopUp[]>`SELECT ${storedColumns} FROM top_ups WHERE ${condition}`;
    return row === undefined ? null : asBuffers(row);
  }
}

function jsonOf({ amount, ...payment }: SignedPayment): string {
  return JSON.stringify({ ...payment, amount: String(amount) } satisfies StoredPayment);
}

/** The driver returns plain byte arrays. */
function asBuffers(row: StoredTopUp): StoredTopUp {
  const { payloadHash, fingerprint, answer } = row;
  return {
    ...row,
    payloadHash: Buffer.from(payloadHash),
    fingerprint: Buffer.from(fingerprint),
    answer: answer === null ? null : Buffer.from(answer),
  };
}
