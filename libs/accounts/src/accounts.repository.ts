import { isUuid } from '#common';
import type { PrismaService } from '#platform/prisma';
import type { Account, AccountTier, ApiKeyKind, ApiKeyRecord, KeySettings, ModelPrivacy } from './api-key.js';

/** A key as authentication needs it. Expiry and revocation are decided by the clock of the database. */
export interface KeyLookup {
  id: string;
  accountId: string;
  kind: ApiKeyKind;
  tier: AccountTier;
  modelPrivacy: ModelPrivacy;
  betaAccess: boolean;
  active: boolean;
  /** Ms until it expires; null: never. */
  expiresInMs: number | null;
}

export interface NewKey extends KeySettings {
  accountId: string;
  kind: ApiKeyKind;
  keyHash: Uint8Array<ArrayBuffer>;
  last6: string;
}

interface LookupRow {
  id: string;
  account_id: string;
  kind: ApiKeyKind;
  tier: AccountTier;
  model_privacy: ModelPrivacy;
  beta_access: boolean;
  active: boolean;
  expires_in_ms: number | null;
}

// Any process may start first: they queue for this lock, and all but one find the account already created.
const bootstrapLock = 72707371;

const accountColumns = { id: true, name: true, tier: true, betaAccess: true, createdAt: true } as const;

export class AccountsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async findKey(keyHash: Uint8Array<ArrayBuffer>): Promise<KeyLookup | null> {
    // SQL: every request authenticates by this one statement, and the database's clock decides what has expired.
    const rows = await this.prisma.$queryRaw<LookupRow[]>`
      SELECT k.id, k.account_id, k.kind::text AS kind, a.tier::text AS tier, k.model_privacy::text AS model_privacy,
             a.beta_access, k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AS active,
             (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS expires_in_ms
        FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = ${keyHash}`;
    const row = rows[0];
    if (!row) return null;
    return {
      id: row.id,
      accountId: row.account_id,
      kind: row.kind,
      tier: row.tier,
      modelPrivacy: row.model_privacy,
      betaAccess: row.beta_access,
      active: row.active,
      expiresInMs: row.expires_in_ms,
    };
  }

  /** Records the use of a key to the minute; higher precision would write a row per request. */
  async touchKey(id: string): Promise<void> {
    // SQL: the database's clock dates the use, whichever replica served it.
    await this.prisma.$executeRaw`
      UPDATE api_keys SET last_used_at = now()
       WHERE id = ${id}::uuid AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`;
  }

  async insertKey(key: NewKey): Promise<ApiKeyRecord> {
    return this.prisma.apiKey.create({ data: key, omit: { keyHash: true } });
  }

  async listKeys(accountId?: string): Promise<ApiKeyRecord[]> {
    const where = accountId === undefined ? {} : { accountId };
    return this.prisma.apiKey.findMany({ where, omit: { keyHash: true }, orderBy: { createdAt: 'asc' } });
  }

  /** Returns false when there is no such key, or it was already revoked. */
  async revokeKey(id: string): Promise<boolean> {
    if (!isUuid(id)) return false;
    const where = { id, revokedAt: null };
    const { count } = await this.prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } });
    return count > 0;
  }

  async createAccount(name: string, tier: AccountTier): Promise<Account> {
    return this.prisma.account.create({ data: { name, tier }, select: accountColumns });
  }

  async listAccounts(): Promise<Account[]> {
    return this.prisma.account.findMany({ select: accountColumns, orderBy: { createdAt: 'asc' } });
  }

  /** Returns null when there is no such account. */
  async findAccount(id: string): Promise<Account | null> {
    if (!isUuid(id)) return null;
    return this.prisma.account.findUnique({ where: { id }, select: accountColumns });
  }

  /** Returns false when there is no such account. */
  async setTier(id: string, tier: AccountTier): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { count } = await this.prisma.account.updateMany({ where: { id }, data: { tier } });
    return count > 0;
  }

  /** Returns false when there is no such account. */
  async setBetaAccess(id: string, betaAccess: boolean): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { count } = await this.prisma.account.updateMany({ where: { id }, data: { betaAccess } });
    return count > 0;
  }

  /** Creates the first account with its keys, unless any account exists; resolves to its id, or null. */
  async insertFirstAccount(name: string, keys: Omit<NewKey, 'accountId'>[]): Promise<string | null> {
    return this.prisma.$transaction(async (transaction) => {
      // SQL: Prisma has no advisory locks.
      await transaction.$executeRaw`SELECT pg_advisory_xact_lock(${bootstrapLock})`;
      if (await transaction.account.findFirst({ select: { id: true } })) return null;
      const account = await transaction.account.create({ data: { name } });
      await transaction.apiKey.createMany({ data: keys.map((key) => ({ ...key, accountId: account.id })) });
      return account.id;
    });
  }
}
