import { isUuid } from '#common';
import { Injectable } from '#platform/injection';
import { Prisma, PrismaService } from '#platform/prisma';
import type {
  Account,
  AccountState,
  AccountTier,
  ApiKeyKind,
  ApiKeyRecord,
  KeySettings,
  ModelPrivacy,
} from './api-key.js';

/** A key as authentication needs it. Expiry and revocation are decided by the clock of the database. */
export interface KeyLookup {
  id: string;
  accountId: string;
  kind: ApiKeyKind;
  tier: AccountTier;
  modelPrivacy: ModelPrivacy;
  betaAccess: boolean;
  accountState: AccountState;
  /** The account is one of the operator. */
  isOperator: boolean;
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

export interface LookupRow {
  id: string;
  account_id: string;
  kind: ApiKeyKind;
  tier: AccountTier;
  model_privacy: ModelPrivacy;
  beta_access: boolean;
  state: AccountState;
  is_operator: boolean;
  active: boolean;
  expires_in_ms: number | null;
}

// Any process may start first: they queue for this lock, and all but one find the account already created.
const bootstrapLock = 72707371;

const accountColumns = {
  id: true,
  name: true,
  tier: true,
  betaAccess: true,
  isOperator: true,
  state: true,
  createdAt: true,
} as const;

export function lookupOf(row: LookupRow | undefined): KeyLookup | null {
  if (row === undefined) return null;
  return {
    id: row.id,
    accountId: row.account_id,
    kind: row.kind,
    tier: row.tier,
    modelPrivacy: row.model_privacy,
    betaAccess: row.beta_access,
    accountState: row.state,
    isOperator: row.is_operator,
    active: row.active,
    expiresInMs: row.expires_in_ms,
  };
}

/** What is left of a payment when its account is erased. */
const erasedTopUp = {
  payer: null,
  transaction: null,
  payment: Prisma.DbNull,
  answer: null,
  balanceNano: null,
  identifier: null,
  nextLookAt: null,
};

@Injectable()
export class AccountsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async findKey(keyHash: Uint8Array<ArrayBuffer>): Promise<KeyLookup | null> {
    // SQL: every request authenticates by this one statement, and the database's clock decides what has expired.
    const rows = await this.prisma.$queryRaw<LookupRow[]>`
      SELECT k.id, k.account_id, k.kind::text AS kind, a.tier::text AS tier, k.model_privacy::text AS model_privacy,
             a.beta_access, a.is_operator, a.state::text AS state,
             k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AS active,
             (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS expires_in_ms
        FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = ${keyHash}`;
    return lookupOf(rows[0]);
  }

  /** Returns the key of a wallet (`wallets/`), or null for one that has none yet. */
  async findWalletKey(address: string): Promise<KeyLookup | null> {
    // SQL: as for other keys, one statement per authentication.
    const rows = await this.prisma.$queryRaw<LookupRow[]>`
      SELECT k.id, k.account_id, k.kind::text AS kind, a.tier::text AS tier, k.model_privacy::text AS model_privacy,
             a.beta_access, a.is_operator, a.state::text AS state, k.revoked_at IS NULL AS active, NULL::float8 AS expires_in_ms
        FROM wallets w JOIN api_keys k ON k.id = w.api_key_id JOIN accounts a ON a.id = k.account_id
       WHERE w.address = ${address}`;
    return lookupOf(rows[0]);
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

  /** Without those of wallets, which are no keys that anybody holds. */
  async listKeys(accountId?: string): Promise<ApiKeyRecord[]> {
    const where = { wallet: null, ...(accountId !== undefined && { accountId }) };
    return this.prisma.apiKey.findMany({ where, omit: { keyHash: true }, orderBy: { createdAt: 'asc' } });
  }

  /** Returns null when there is no such key, or it was revoked. */
  async updateKey(id: string, changes: Partial<KeySettings>): Promise<ApiKeyRecord | null> {
    if (!isUuid(id)) return null;
    const where = { id, revokedAt: null };
    const [changed] = await this.prisma.apiKey.updateManyAndReturn({ where, data: changes, omit: { keyHash: true } });
    return changed ?? null;
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

  /** Oldest first; several accounts may have one name. */
  async findAccountsNamed(name: string): Promise<Account[]> {
    return this.prisma.account.findMany({ where: { name }, select: accountColumns, orderBy: { createdAt: 'asc' } });
  }

  /** Returns accounts whose name contains the text in any case, whose id begins with it, or that own a key that ends in it. */
  async searchAccounts(text: string): Promise<Account[]> {
    // SQL: Prisma cannot compare the beginning of a UUID.
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id::text AS id FROM accounts a
       WHERE strpos(lower(name), lower(${text})) > 0 OR starts_with(id::text, lower(${text}))
          OR EXISTS (SELECT 1 FROM api_keys k WHERE k.account_id = a.id AND k.last6 = right(${text}, 6))`;
    const where = { id: { in: rows.map(({ id }) => id) } };
    return this.prisma.account.findMany({ where, select: accountColumns, orderBy: { createdAt: 'asc' } });
  }

  /** Returns false when there is no such account, or it is closed. */
  async updateAccount(
    id: string,
    changes: Partial<Pick<Account, 'name' | 'tier' | 'betaAccess' | 'isOperator' | 'state'>>,
  ): Promise<boolean> {
    if (!isUuid(id)) return false;
    const where = { id, state: { not: 'closed' as const } };
    const { count } = await this.prisma.account.updateMany({ where, data: changes });
    return count > 0;
  }

  /** Closes the account and revokes its keys; returns their number. */
  async closeAccount(id: string): Promise<number> {
    const [, { count }] = await this.prisma.$transaction([
      this.prisma.account.update({ where: { id }, data: { state: 'closed' } }),
      this.prisma.apiKey.updateMany({ where: { accountId: id, revokedAt: null }, data: { revokedAt: new Date() } }),
    ]);
    return count;
  }

  /** Whether a payment to the account may still be credited. */
  async hasOpenTopUp(accountId: string): Promise<boolean> {
    const where = { accountId, state: { in: ['authorized' as const, 'pending' as const] } };
    return (await this.prisma.topUp.findFirst({ where, select: { id: true } })) !== null;
  }

  /**
   * Closes the account and removes what tells who owned it: names, wallets, stored responses and voices. Its rows of the
   * ledger stay. Returns the number of keys that were revoked.
   */
  async eraseAccount(id: string, pseudonym: string): Promise<number> {
    const accountId = id;
    const [, { count }] = await this.prisma.$transaction([
      this.prisma.account.update({ where: { id }, data: { state: 'closed', name: pseudonym } }),
      this.prisma.apiKey.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: new Date() } }),
      this.prisma.apiKey.updateMany({ where: { accountId }, data: { description: '' } }),
      this.prisma.wallet.deleteMany({ where: { accountId } }),
      this.prisma.responseState.deleteMany({ where: { accountId } }),
      this.prisma.clonedVoice.deleteMany({ where: { accountId } }),
      // A payment stays known by the hash of its key, so that it is never credited again.
      this.prisma.topUp.updateMany({ where: { accountId }, data: erasedTopUp }),
    ]);
    return count;
  }

  /** Creates the first account, an operator's, with its keys, unless any account exists; resolves to its id, or null. */
  async insertFirstAccount(name: string, keys: Omit<NewKey, 'accountId'>[]): Promise<string | null> {
    return this.prisma.$transaction(async (transaction) => {
      // SQL: Prisma has no advisory locks.
      await transaction.$executeRaw`SELECT pg_advisory_xact_lock(${bootstrapLock})`;
      if (await transaction.account.findFirst({ select: { id: true } })) return null;
      const account = await transaction.account.create({ data: { name, isOperator: true } });
      await transaction.apiKey.createMany({ data: keys.map((key) => ({ ...key, accountId: account.id })) });
      return account.id;
    });
  }
}
