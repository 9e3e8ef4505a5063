import { isUuid, PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import type { Prisma } from '#platform/prisma';
import { type ApiKeyKind, type ApiKeyRecord, hashApiKey, type KeySettings, lastSixOf, newApiKey } from '../api-key.js';
import { AccountsService } from '../accounts.service.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import { type KeyUsage, KeyUsageReader, unused } from './key-usage.js';

/** A created key; `key` is returned here only. */
export interface CreatedKey {
  key: string;
  record: ApiKeyRecord;
}

export interface UsedKey {
  record: ApiKeyRecord;
  usage: KeyUsage;
}

const maxPerMinute = 20;
const maxActive = 500;

/** Manages the keys of an account for its owner. Keys of other accounts, and deleted ones, do not exist here. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly usage: KeyUsageReader,
    /** Forgets cached keys after every change. */
    private readonly accounts: AccountsService,
  ) {}

  /** Returns all active keys and the 500 that expired last, oldest first. */
  async list(accountId: string): Promise<UsedKey[]> {
    const records = await this.repository.list(accountId);
    const usage = await this.usage.usageOfKeys(records.map(({ id }) => id));
    return records.map((record) => ({ record, usage: usage.get(record.id) ?? unused }));
  }

  /** Rejects with `NOT_FOUND`. */
  async find(accountId: string, id: string): Promise<UsedKey> {
    const record = isUuid(id) ? await this.repository.find(accountId, id) : null;
    if (record === null) throw new PlatformError('NOT_FOUND', 'There is no API key with this id.', 'id');
    const usage = await this.usage.usageOfKeys([record.id]);
    return { record, usage: usage.get(record.id) ?? unused };
  }

  /**
   * Rejects with `UNAUTHORIZED` for an account that is not active, with `RATE_LIMIT_EXCEEDED` after 20 keys in a minute, and with `INVALID_REQUEST` at 500 active keys. Both
   * are counted under a lock, so concurrent requests cannot exceed them.
   */
  async create(accountId: string, kind: ApiKeyKind, settings: KeySettings): Promise<CreatedKey> {
    return this.repository.transaction((transaction) => this.createIn(transaction, accountId, kind, settings));
  }

  /** Like `create`, inside the caller's transaction. */
  async createIn(
    transaction: Prisma.TransactionClient,
    accountId: string,
    kind: ApiKeyKind,
    settings: KeySettings,
  ): Promise<CreatedKey> {
    const state = await this.repository.lockAccount(transaction, accountId);
    if (state !== 'active') throw new PlatformError('UNAUTHORIZED', `The account is ${state}. Ask the operator.`);
    const { waitSeconds, active } = await this.repository.count(transaction, accountId, maxPerMinute);
    if (waitSeconds > 0) throw tooFast(waitSeconds);
    if (active >= maxActive) throw tooMany();
    const key = newApiKey();
    const identity = { accountId, kind, keyHash: hashApiKey(key), last6: lastSixOf(key) };
    return { key, record: await this.repository.insert(transaction, { ...identity, ...settings }) };
  }

  /** Changes the given fields only. Rejects with `INVALID_REQUEST` when the account has no such key. */
  async update(accountId: string, id: string, changes: Partial<KeySettings>): Promise<ApiKeyRecord> {
    if (!isUuid(id)) throw unknownKey();
    const record =
      changes.expiresAt === undefined
        ? await this.repository.update(accountId, id, changes)
        : await this.extend(accountId, id, changes);
    if (record === null) throw unknownKey();
    this.accounts.forgetKeys();
    return record;
  }

  /** Revokes a key everywhere within 5 s. Rejects with `INVALID_REQUEST` when the account has no such key. */
  async delete(accountId: string, id: string): Promise<void> {
    if (!isUuid(id) || !(await this.repository.revoke(accountId, id))) throw unknownKey();
    this.accounts.forgetKeys();
  }

  /** Reactivating an expired key counts towards the limit of 500 active keys. */
  private async extend(accountId: string, id: string, changes: Partial<KeySettings>): Promise<ApiKeyRecord | null> {
    return this.repository.transaction(async (transaction) => {
      await this.repository.lockAccount(transaction, accountId);
      const standing = await this.repository.standing(transaction, accountId, id);
      if (standing === null) return null;
      if (standing.expired && standing.othersActive >= maxActive) throw tooMany();
      return this.repository.update(accountId, id, changes, transaction);
    });
  }
}

function unknownKey(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'There is no API key with this id.', 'id');
}

function tooFast(afterSeconds: number): PlatformError {
  const message = `An account can make ${maxPerMinute} API keys per minute.`;
  return new PlatformError('RATE_LIMIT_EXCEEDED', message, null, { retry: { afterSeconds } });
}

function tooMany(): PlatformError {
  return new PlatformError('INVALID_REQUEST', `An account can have ${maxActive} active API keys; delete some first.`);
}
