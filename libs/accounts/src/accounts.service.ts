import { type Clock, isUuid, PlatformError, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { AccountsRepository, type KeyLookup } from './accounts.repository.js';
import {
  type Account,
  type AccountTier,
  type ApiKeyKind,
  type ApiKeyRecord,
  defaultKeySettings,
  hashApiKey,
  type KeySettings,
  lastSixOf,
  looksLikeApiKey,
  type ModelPrivacy,
  newApiKey,
} from './api-key.js';
import { KeyCache } from './key-cache.js';

/** The authenticated caller of a request. */
export interface Caller {
  accountId: string;
  apiKeyId: string;
  kind: ApiKeyKind;
  tier: AccountTier;
  modelPrivacy: ModelPrivacy;
  betaAccess: boolean;
  /** True for the ADMIN keys of an operator account, which may see the whole installation. */
  isOperator?: true;
}

/** Omitted members default to `defaultKeySettings`. */
export interface CreateKeyOptions extends Partial<KeySettings> {
  accountId: string;
  kind: ApiKeyKind;
}

/** The keys of the first account; they are returned only here. */
export interface BootstrapKeys {
  accountId: string;
  adminKey: string;
  inferenceKey: string;
}

/** Accounts and API keys. */
@Injectable()
export class AccountsService {
  private readonly keys: KeyCache;

  constructor(
    private readonly repository: AccountsRepository,
    @Optional() clock: Clock = systemClock,
  ) {
    this.keys = new KeyCache((keyHashes) => Promise.all(keyHashes.map((keyHash) => this.readKey(keyHash))), clock);
  }

  /**
   * Returns the caller behind a bearer token (without `Bearer `). Rejects with `AUTHENTICATION_FAILED` for an unknown
   * key, `AUTHENTICATION_FAILED_INACTIVE_KEY` for a revoked or expired one, and `UNAUTHORIZED` for one of a suspended
   * account. A change takes effect within 5 s.
   */
  async authenticate(bearer: string): Promise<Caller> {
    const key = looksLikeApiKey(bearer) ? await this.keys.find(hashApiKey(bearer)) : null;
    if (key === null) throw new PlatformError('AUTHENTICATION_FAILED', 'The API key is not valid.');
    if (!key.active) {
      throw new PlatformError('AUTHENTICATION_FAILED_INACTIVE_KEY', 'The API key was revoked or has expired.');
    }
    return callerBehind(key);
  }

  /** For operators, whom the limits of `ApiKeysService` do not bind. The key is returned here only. */
  async createKey({ accountId, kind, ...settings }: CreateKeyOptions): Promise<{ key: string; record: ApiKeyRecord }> {
    const key = newApiKey();
    const identity = { accountId, kind, keyHash: hashApiKey(key), last6: lastSixOf(key) };
    const record = await this.repository.insertKey({ ...identity, ...defaultKeySettings, ...settings });
    return { key, record };
  }

  /** Returns all keys, revoked ones included, oldest first; of one account when it is named. */
  async listKeys(accountId?: string): Promise<ApiKeyRecord[]> {
    return this.repository.listKeys(accountId);
  }

  /** Changes the spending limits of a key that is not revoked. Rejects with `NOT_FOUND`. */
  async changeKey(
    id: string,
    changes: Partial<Pick<KeySettings, 'limitUsdNano' | 'limitDiemNano' | 'limitPeriod'>>,
  ): Promise<ApiKeyRecord> {
    const record = await this.repository.updateKey(id, changes);
    if (record === null) throw new PlatformError('NOT_FOUND', `There is no valid key with the id ${id}.`);
    this.forgetKeys();
    return record;
  }

  /** Returns false when there is no such key, or it was already revoked. */
  async revokeKey(id: string): Promise<boolean> {
    const revoked = await this.repository.revokeKey(id);
    this.forgetKeys();
    return revoked;
  }

  /** Makes this process read keys again. */
  forgetKeys(): void {
    this.keys.clear();
  }

  async createAccount(name: string, tier: AccountTier = 'default'): Promise<Account> {
    return this.repository.createAccount(name, tier);
  }

  /** Oldest first. */
  async listAccounts(): Promise<Account[]> {
    return this.repository.listAccounts();
  }

  /** Rejects with `NOT_FOUND`. */
  async findAccount(id: string): Promise<Account> {
    const account = await this.repository.findAccount(id);
    if (account === null) throw new PlatformError('NOT_FOUND', `There is no account ${id}.`);
    return account;
  }

  /** By its id or its whole name. Rejects with `NOT_FOUND`, and with `INVALID_REQUEST` for the name of several. */
  async findAccountByIdOrName(text: string): Promise<Account> {
    if (isUuid(text)) return this.findAccount(text);
    const named = await this.repository.findAccountsNamed(text);
    const [account] = named;
    if (account === undefined) throw new PlatformError('NOT_FOUND', `There is no account ${text}.`);
    if (named.length === 1) return account;
    const ids = named.map(({ id }) => id).join(', ');
    throw new PlatformError('INVALID_REQUEST', `${named.length} accounts have the name ${text}. Give an id: ${ids}.`);
  }

  /** By a part of the name, the beginning of the id, or the end of a key; oldest first. */
  async searchAccounts(text: string): Promise<Account[]> {
    return this.repository.searchAccounts(text);
  }

  async renameAccount(id: string, name: string): Promise<void> {
    return this.change(id, { name });
  }

  /** Reaches every replica within 5 s, like the other changes. */
  async setTier(id: string, tier: AccountTier): Promise<void> {
    return this.change(id, { tier });
  }

  /** Grants or withdraws access to models in closed beta. */
  async setBetaAccess(id: string, betaAccess: boolean): Promise<void> {
    return this.change(id, { betaAccess });
  }

  /** Lets the ADMIN keys of an account see the whole installation in the console, or no longer. */
  async setOperator(id: string, isOperator: boolean): Promise<void> {
    return this.change(id, { isOperator });
  }

  /** Refuses the account's keys until it is resumed; running requests end normally. */
  async setSuspended(id: string, suspended: boolean): Promise<void> {
    return this.change(id, { state: suspended ? 'suspended' : 'active' });
  }

  /** Revokes all keys of the account for good and returns how many there were; its ledger stays. */
  async closeAccount(id: string): Promise<number> {
    const account = await this.findAccount(id);
    if (account.state === 'closed') throw closed(id);
    const revokedKeys = await this.repository.closeAccount(id);
    this.forgetKeys();
    return revokedKeys;
  }

  /**
   * Closes an account, also a closed one, and replaces its name by a pseudonym. Its ledger stays, because money is not
   * forgotten. Returns how many keys were revoked. Rejects with `INVALID_REQUEST` while a payment may still be credited.
   */
  async deleteAccount(id: string): Promise<{ revokedKeys: number; name: string }> {
    await this.findAccount(id);
    if (await this.repository.hasOpenTopUp(id)) {
      const message = `A top-up of account ${id} has not ended: sluice top-ups list ${id}. Delete the account afterwards.`;
      throw new PlatformError('INVALID_REQUEST', message);
    }
    const name = `deleted-${id.slice(0, 8)}`;
    const revokedKeys = await this.repository.eraseAccount(id, name);
    this.forgetKeys();
    return { revokedKeys, name };
  }

  /** Rejects with `NOT_FOUND`, and with `INVALID_REQUEST` for a closed account. */
  private async change(id: string, changes: Parameters<AccountsRepository['updateAccount']>[1]): Promise<void> {
    if (!(await this.repository.updateAccount(id, changes))) {
      await this.findAccount(id);
      throw closed(id);
    }
    this.forgetKeys();
  }

  /**
   * Creates the first account with an admin and an inference key, given or random. Returns null when any account
   * exists, so any number of processes may call it at every start.
   */
  async bootstrap(keys: { adminKey?: string; inferenceKey?: string } = {}): Promise<BootstrapKeys | null> {
    const adminKey = keys.adminKey ?? newApiKey();
    const inferenceKey = keys.inferenceKey ?? newApiKey();
    const accountId = await this.repository.insertFirstAccount('default', [
      firstKey(adminKey, 'ADMIN'),
      firstKey(inferenceKey, 'INFERENCE'),
    ]);
    return accountId === null ? null : { accountId, adminKey, inferenceKey };
  }

  private async readKey(keyHash: Uint8Array<ArrayBuffer>): Promise<KeyLookup | null> {
    const key = await this.repository.findKey(keyHash);
    // Not awaited; the next read, 5 s later, makes up for a lost write.
    if (key?.active) void this.repository.touchKey(key.id).catch(() => undefined);
    return key;
  }
}

/** Returns the caller of an active key. Throws `UNAUTHORIZED` when its account is not active. */
export function callerBehind(key: KeyLookup): Caller {
  const { accountId, id, kind, tier, modelPrivacy, betaAccess, accountState, isOperator } = key;
  if (accountState !== 'active') {
    throw new PlatformError('UNAUTHORIZED', `The account of this API key is ${accountState}. Ask the operator.`);
  }
  const caller = { accountId, apiKeyId: id, kind, tier, modelPrivacy, betaAccess };
  return isOperator && kind === 'ADMIN' ? { ...caller, isOperator: true } : caller;
}

function closed(id: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `The account ${id} is closed. Closing is final.`);
}

function firstKey(key: string, kind: ApiKeyKind) {
  const identity = { kind, keyHash: hashApiKey(key), last6: lastSixOf(key) };
  return { ...identity, ...defaultKeySettings, description: 'created at first start' };
}
