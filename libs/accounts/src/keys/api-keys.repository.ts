import { type Prisma, PrismaService } from '#platform/prisma';
import type { AccountState, ApiKeyRecord, KeySettings } from '../api-key.js';
import type { NewKey } from '../accounts.repository.js';
import { Injectable } from '#platform/injection';

export interface KeyCounts {
  /**
   * Seconds until fewer than `perMinute` were created in the last minute, deleted ones included; 0 when that is already
   * so.
   */
  waitSeconds: number;
  /** Neither deleted nor expired. */
  active: number;
}

/** Current state of the key to change, read under the lock of its account. */
export interface KeyStanding {
  expired: boolean;
  othersActive: number;
}

type Transaction = Prisma.TransactionClient;

/** Timeout for the lock on an account; many may wait for it, and each holds it for milliseconds. */
export const transactionLimits = { maxWait: 10_000, timeout: 10_000 } as const;

const withoutHash = { keyHash: true } as const;

/**
 * Maximum number of expired keys; without it the list of an owner who creates short-lived keys would grow without
 * bound.
 */
const maxExpiredListed = 500;

/** The keys of an account as their owner sees them: deleted ones are absent, and those of wallets, which nobody holds. */
@Injectable()
export class ApiKeysRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns all active keys and the 500 that expired last, oldest first. */
  async list(accountId: string): Promise<ApiKeyRecord[]> {
    const last = await this.lastListed(accountId);
    const listed = last && [
      { expiresAt: null },
      { expiresAt: { gt: last.expiresAt } },
      { expiresAt: last.expiresAt, id: { gte: last.id } },
    ];
    return this.prisma.apiKey.findMany({
      where: { accountId, revokedAt: null, wallet: null, ...(listed && { OR: listed }) },
      omit: withoutHash,
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    });
  }

  /** Returns the earliest listed expired key; undefined when all are listed. */
  private async lastListed(accountId: string): Promise<{ id: string; expiresAt: Date } | undefined> {
    // SQL: the database's clock decides what has expired.
    const [last] = await this.prisma.$queryRaw<{ id: string; expiresAt: Date }[]>`
      SELECT id::text AS id, expires_at AS "expiresAt" FROM api_keys
       WHERE account_id = ${accountId}::uuid AND revoked_at IS NULL AND expires_at <= now()
       ORDER BY expires_at DESC, id DESC OFFSET ${maxExpiredListed - 1}::int LIMIT 1`;
    return last;
  }

  async find(accountId: string, id: string): Promise<ApiKeyRecord | null> {
    return this.prisma.apiKey.findFirst({ where: { id, accountId, revokedAt: null, wallet: null }, omit: withoutHash });
  }

  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.prisma.$transaction(run, transactionLimits);
  }

  /**
   * Waits for concurrent key creation of the account: the counts then hold until the transaction ends. Returns the
   * state of the account.
   */
  async lockAccount(transaction: Transaction, accountId: string): Promise<AccountState> {
    // SQL: Prisma has no row locks. Weaker than FOR UPDATE: requests of the account insert rows that refer to it meanwhile.
    const [account] = await transaction.$queryRaw<{ state: AccountState }[]>`
      SELECT state::text AS state FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
    return account?.state ?? 'closed';
  }

  async count(transaction: Transaction, accountId: string, perMinute: number): Promise<KeyCounts> {
    // SQL: both counts, by the database's clock, in one statement under the lock.
    const [counts] = await transaction.$queryRaw<[KeyCounts]>`
      SELECT GREATEST(0, ceil(60 - extract(epoch FROM clock_timestamp() - COALESCE(
               (SELECT created_at FROM api_keys WHERE account_id = ${accountId}::uuid
                 ORDER BY created_at DESC OFFSET ${perMinute - 1}::int LIMIT 1), 'epoch'))))::int AS "waitSeconds",
             (SELECT count(*) FROM api_keys k WHERE account_id = ${accountId}::uuid AND revoked_at IS NULL
                 AND (expires_at IS NULL OR expires_at > now())
                 AND NOT EXISTS (SELECT 1 FROM wallets w WHERE w.api_key_id = k.id))::int AS active`;
    return counts;
  }

  /** Returns null when the account has no such key. */
  async standing(transaction: Transaction, accountId: string, id: string): Promise<KeyStanding | null> {
    // SQL: the database's clock decides what has expired.
    const [row] = await transaction.$queryRaw<KeyStanding[]>`
      SELECT expires_at IS NOT NULL AND expires_at <= now() AS expired,
             (SELECT count(*) FROM api_keys o WHERE o.account_id = k.account_id AND o.id <> k.id
                 AND o.revoked_at IS NULL AND (o.expires_at IS NULL OR o.expires_at > now())
                 AND NOT EXISTS (SELECT 1 FROM wallets w WHERE w.api_key_id = o.id))::int AS "othersActive"
        FROM api_keys k WHERE k.id = ${id}::uuid AND k.account_id = ${accountId}::uuid AND k.revoked_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM wallets w WHERE w.api_key_id = k.id)`;
    return row ?? null;
  }

  async insert(transaction: Transaction, key: NewKey): Promise<ApiKeyRecord> {
    return transaction.apiKey.create({ data: key, omit: withoutHash });
  }

  /** One statement: a concurrently deleted key is either changed and then deleted, or not changed. */
  async update(
    accountId: string,
    id: string,
    changes: Partial<KeySettings>,
    transaction: Transaction = this.prisma,
  ): Promise<ApiKeyRecord | null> {
    const where = { id, accountId, revokedAt: null, wallet: null };
    const [changed] = await transaction.apiKey.updateManyAndReturn({ where, data: changes, omit: withoutHash });
    return changed ?? null;
  }

  /** Returns false when the account has no such key. */
  async revoke(accountId: string, id: string): Promise<boolean> {
    const where = { id, accountId, revokedAt: null, wallet: null };
    const { count } = await this.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } });
    return count > 0;
  }
}
