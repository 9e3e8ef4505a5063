import { Injectable } from '#platform/injection';
import { PrismaService, type RawQueries } from '#platform/prisma';
import type { JobState, JobTransaction } from '../lifecycle/job-states.js';

/** What the row of a key records about its request; the migration documents the states. */
export type KeyState = 'claimed' | 'admitted' | 'answered' | 'failed' | 'cut';

/** A request with an idempotency key. */
export interface KeyedRequest {
  accountId: string;
  key: string;
  /** sha256 over route and body. */
  fingerprint: Uint8Array<ArrayBuffer>;
  requestId: string;
}

/** The request that owns a key, and the job it may have opened. */
export interface HeldKey {
  requestId: string;
  state: KeyState;
  fingerprint: Uint8Array;
  /** True while a live replica renews its lease. */
  isHeld: boolean;
  isExpired: boolean;
  answer: Uint8Array | null;
  job: { state: JobState; modelId: string; isAsync: boolean; queueId: string | null } | null;
}

interface KeyRow {
  request_id: string;
  state: KeyState;
  fingerprint: Uint8Array;
  is_held: boolean;
  is_expired: boolean;
  answer: Uint8Array | null;
  job_state: JobState | null;
  model_id: string | null;
  is_async: boolean;
  queue_id: string | null;
}

/** How long a key is valid, as a database interval. */
const lifetime = '24 hours';

/** Rows of idempotency keys. Every write names its request, since another request may have taken the key over. */
@Injectable()
export class IdempotencyRepository {
  // SQL: a key is claimed, held and taken over by single statements that compare with the database's clock.
  constructor(private readonly prisma: PrismaService) {}

  /** Returns true when the key was free; of concurrent requests, one succeeds. Never waits for the owner of the key. */
  async claim({ accountId, key, fingerprint, requestId }: KeyedRequest, reservationMs: number): Promise<boolean> {
    const count = await this.prisma.$executeRaw`
      INSERT INTO idempotency_keys (account_id, key, fingerprint, request_id, held_until, expires_at)
      VALUES (${accountId}::uuid, ${key}, ${fingerprint}, ${requestId},
              now() + ${reservationMs}::float8 * interval '1 ms', now() + ${lifetime}::interval)
      ON CONFLICT DO NOTHING`;
    return count === 1;
  }

  async find({ accountId, key }: KeyedRequest): Promise<HeldKey | null> {
    const [row] = await this.prisma.$queryRaw<KeyRow[]>`
      SELECT k.request_id, k.state::text AS state, k.fingerprint, k.answer, k.held_until > now() AS is_held,
             k.expires_at <= now() AS is_expired, j.state::text AS job_state, j.model_id,
             j.request_id IS NOT NULL AND j.reply_to IS NULL AS is_async, m.queue_id::text AS queue_id
        FROM idempotency_keys k LEFT JOIN jobs j ON j.request_id = k.request_id
             LEFT JOIN media_jobs m ON m.request_id = k.request_id
       WHERE k.account_id = ${accountId}::uuid AND k.key = ${key}`;
    if (row === undefined) return null;
    const { job_state: state, model_id: modelId, is_async: isAsync, queue_id: queueId } = row;
    return {
      requestId: row.request_id,
      state: row.state,
      fingerprint: row.fingerprint,
      isHeld: row.is_held,
      isExpired: row.is_expired,
      answer: row.answer,
      job: state === null || modelId === null ? null : { state, modelId, isAsync, queueId },
    };
  }

  /** Takes the key over from a request that no longer needs it; of concurrent requests, one succeeds. */
  async takeOver(request: KeyedRequest, from: HeldKey, reservationMs: number): Promise<boolean> {
    const { accountId, key, fingerprint, requestId } = request;
    const hadJob = from.job !== null;
    const count = await this.withKey(
      request,
      (last) => last.$executeRaw`
        UPDATE idempotency_keys
           SET request_id = ${requestId}, fingerprint = ${fingerprint}, state = 'claimed', answer = NULL,
               held_until = now() + ${reservationMs}::float8 * interval '1 ms', expires_at = now() + ${lifetime}::interval
         WHERE account_id = ${accountId}::uuid AND key = ${key}
           AND request_id = ${from.requestId} AND state = ${from.state}::idempotency_state
           AND (${hadJob}::boolean OR NOT EXISTS (SELECT FROM jobs WHERE jobs.request_id = ${from.requestId}))`,
    );
    return count === 1;
  }

  /**
   * Records, in the transaction that admits their jobs, that jobs exist. Resolves to the requests that still own their
   * keys.
   */
  async admit(transaction: JobTransaction, requests: readonly KeyedRequest[]): Promise<Set<string>> {
    const { accountIds, keys, requestIds } = columnsOf(requests);
    const rows = await transaction.$queryRaw<{ request_id: string }[]>`
      UPDATE idempotency_keys k SET state = 'admitted'
        FROM unnest(${accountIds}::uuid[], ${keys}::text[], ${requestIds}::text[]) AS held(account_id, key, request_id)
       WHERE k.account_id = held.account_id AND k.key = held.key AND k.request_id = held.request_id
         AND k.state IN ('claimed', 'admitted')
      RETURNING k.request_id`;
    return new Set(rows.map(({ request_id: requestId }) => requestId));
  }

  /** Stores the response of a successful request. */
  async keep({ accountId, key, requestId }: KeyedRequest, answer: Uint8Array<ArrayBuffer> | null): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE idempotency_keys SET state = 'answered', answer = ${answer}, held_until = now()
       WHERE account_id = ${accountId}::uuid AND key = ${key} AND request_id = ${requestId}`;
  }

  /** Frees the key; when a job was admitted for it, records how its response ended instead. */
  async release(
    request: KeyedRequest,
    ending: 'failed' | 'cut',
    answer: Uint8Array<ArrayBuffer> | null,
  ): Promise<void> {
    const { accountId, key, requestId } = request;
    await this.withKey(
      request,
      (last) => last.$executeRaw`
        WITH freed AS (
          DELETE FROM idempotency_keys
           WHERE account_id = ${accountId}::uuid AND key = ${key} AND request_id = ${requestId}
             AND NOT EXISTS (SELECT FROM jobs WHERE jobs.request_id = idempotency_keys.request_id)
        )
        UPDATE idempotency_keys SET state = ${ending}::idempotency_state, answer = ${answer}, held_until = now()
         WHERE account_id = ${accountId}::uuid AND key = ${key} AND request_id = ${requestId} AND state = 'admitted'
           AND EXISTS (SELECT FROM jobs WHERE jobs.request_id = idempotency_keys.request_id)`,
    );
  }

  /** Renews the leases of these requests. Rows that are locked at this moment are left for the next time. */
  async hold(requests: KeyedRequest[], reservationMs: number): Promise<void> {
    const { accountIds, keys, requestIds } = columnsOf(requests);
    await this.prisma.$executeRaw`
      WITH mine AS MATERIALIZED (
        SELECT k.account_id, k.key FROM idempotency_keys k
          JOIN unnest(${accountIds}::uuid[], ${keys}::text[], ${requestIds}::text[]) AS held(account_id, key, request_id)
            ON k.account_id = held.account_id AND k.key = held.key AND k.request_id = held.request_id
         WHERE k.state IN ('claimed', 'admitted') ORDER BY k.account_id, k.key FOR NO KEY UPDATE OF k SKIP LOCKED
      )
      UPDATE idempotency_keys k SET held_until = now() + ${reservationMs}::float8 * interval '1 ms'
        FROM mine WHERE k.account_id = mine.account_id AND k.key = mine.key`;
  }

  /** Deletes expired keys, oldest first; resolves to their number. */
  async deleteExpired(limit: number): Promise<number> {
    return this.prisma.$executeRaw`
      DELETE FROM idempotency_keys WHERE (account_id, key) IN
        (SELECT account_id, key FROM idempotency_keys WHERE expires_at <= now()
          ORDER BY expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED)`;
  }

  /**
   * Runs the single statement of `write` after locking the key. Whether a request has a job is decided by the
   * statement's snapshot: taken before the lock, it would be older than the admission that the lock waited for, and
   * miss its job.
   */
  private withKey({ accountId, key }: KeyedRequest, write: (last: RawQueries) => Promise<number>): Promise<number> {
    return this.prisma.$prepared(async (transaction) => {
      await transaction.$queryRaw`
        SELECT FROM idempotency_keys WHERE account_id = ${accountId}::uuid AND key = ${key} FOR UPDATE`;
      return write(transaction.last);
    });
  }
}

function columnsOf(requests: readonly KeyedRequest[]) {
  return {
    accountIds: requests.map(({ accountId }) => accountId),
    keys: requests.map(({ key }) => key),
    requestIds: requests.map(({ requestId }) => requestId),
  };
}
