import { createHash, randomBytes } from 'node:crypto';
import type { NanoUsd } from '#common';

/** The kind of a key: `INFERENCE` runs models, `ADMIN` also manages the account. */
export type ApiKeyKind = 'INFERENCE' | 'ADMIN';

/** The rate limit tier of an account. */
export type AccountTier = 'default' | 'partner';

/** The keys of a suspended account are refused until it is resumed; those of a closed one are revoked. */
export type AccountState = 'active' | 'suspended' | 'closed';

export interface Account {
  id: string;
  name: string;
  tier: AccountTier;
  /** May use models in closed beta. */
  betaAccess: boolean;
  /** Its ADMIN keys see the whole installation in the console. */
  isOperator: boolean;
  state: AccountState;
  createdAt: Date;
}

/** Which models a key may call; `PRIVATE_TEXT` restricts only text and embedding models. */
export type ModelPrivacy = 'ALL' | 'PRIVATE_TEXT' | 'PRIVATE_ONLY';

/** The period of a key's limits; `EPOCH` is the UTC day. */
export type LimitPeriod = 'EPOCH' | 'MONTH' | 'LIFETIME';

/** Settings of a key that its owner chooses, besides its kind. */
export interface KeySettings {
  description: string;
  /** Null: it never expires. */
  expiresAt: Date | null;
  /** Null is no limit, 0 forbids the currency; bundled credits count as USD. */
  limitUsdNano: NanoUsd | null;
  limitDiemNano: NanoUsd | null;
  limitPeriod: LimitPeriod;
  modelPrivacy: ModelPrivacy;
}

/** The largest limit, in USD or DIEM. */
export const largestLimit = 9_999_999_999;

/** A higher limit than the ledger can count is stored as the maximum: no key can ever spend that much. */
export const maxLimitNano: NanoUsd = 2n ** 63n - 1n;

/** A limit as it is stored. */
export function storedLimit(nanos: NanoUsd): NanoUsd {
  return nanos > maxLimitNano ? maxLimitNano : nanos;
}

export const defaultKeySettings: KeySettings = {
  description: '',
  expiresAt: null,
  limitUsdNano: null,
  limitDiemNano: null,
  limitPeriod: 'EPOCH',
  modelPrivacy: 'ALL',
};

/** The stored record of a key; the key itself is shown once and never stored. */
export interface ApiKeyRecord extends KeySettings {
  id: string;
  accountId: string;
  kind: ApiKeyKind;
  last6: string;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
}

const prefix = 'slk_';
const longestKey = 256;

/** `slk_` and 32 random bytes in base64url. */
export function newApiKey(): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

/** sha256: the key is random, so a slow hash would protect nothing and cost time on every request. */
export function hashApiKey(key: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(key).digest());
}

export function lastSixOf(key: string): string {
  return key.slice(-6);
}

/** Returns false for a string that cannot be one of our keys, which saves a query. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith(prefix) && text.length <= longestKey && /^[\x21-\x7e]+$/.test(text);
}
