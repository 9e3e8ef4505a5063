import { type Clock, deriveKey, PlatformError, systemClock } from '#common';
import { DatabaseConfig } from '#platform/config';
import { Inject, Injectable, Optional } from '#platform/injection';
import { AccountsService, type Caller, callerBehind } from '../accounts.service.js';
import { KeyCache } from '../key-cache.js';
import type { ApiKeyKind } from '../api-key.js';
import {
  ConsoleSessionsRepository,
  sessionMs,
  type SessionRow,
  type StoredSession,
} from './console-sessions.repository.js';
import { type SessionCookie, sessionCookieName, sessionTokensIn, writeSessionCookie } from './session-cookie.js';
import {
  csrfTextOf,
  hashSessionToken,
  isCsrfTextOf,
  isSessionToken,
  looksLikeLinkToken,
  newSessionToken,
} from './session-token.js';

/** Sessions of one header that are looked up; another host of the domain may add cookies. */
const maxSessions = 8;
/** Sessions that one statement looks up: pages of many browsers cost one statement every 5 s. */
const maxTogether = 50;

/** A session as its owner sees it, and the text that its requests repeat (`csrfTextOf`). */
export interface ConsoleSession extends SessionRow {
  accountId: string;
  apiKeyId: string;
  kind: ApiKeyKind;
  isOperator: boolean;
  csrf: string;
}

/** The session of a token when it was read. It is kept for tokens without one as well: each had one once. */
interface SessionLookup {
  stored: StoredSession | null;
  active: boolean;
  expiresInMs: number | null;
}

/**
 * Sessions of the console: an API key, or a one-time link, is exchanged for a token in a cookie. A session ends after 12
 * hours, by signing out, and with its key.
 */
@Injectable()
export class ConsoleSessionsService {
  private readonly lookups: KeyCache<SessionLookup>;
  /** The first key of each list writes, and all read. */
  private readonly csrfKeys: readonly [Buffer, ...Buffer[]];
  private readonly tokenKeys: readonly [Buffer, ...Buffer[]];

  constructor(
    private readonly repository: ConsoleSessionsRepository,
    private readonly accounts: AccountsService,
    /** Replicas with the same key accept each other's sessions. */
    @Inject(DatabaseConfig) { secretKeys: [newest, ...older] }: Pick<DatabaseConfig, 'secretKeys'>,
    @Optional() clock: Clock = systemClock,
  ) {
    this.lookups = new KeyCache((tokenHashes) => this.read(tokenHashes), clock, maxTogether);
    const keysFor = (purpose: string): [Buffer, ...Buffer[]] => [
      deriveKey(newest, purpose),
      ...older.map((secretKey) => deriveKey(secretKey, purpose)),
    ];
    this.csrfKeys = keysFor('console sessions');
    this.tokenKeys = keysFor('tokens of console sessions');
  }

  /** Opens a session for an API key; resolves to its token. Rejects as `AccountsService.authenticate` does. */
  async openWithKey(apiKey: string): Promise<string> {
    return this.open(await this.accounts.authenticate(apiKey));
  }

  /** Opens a session with the token of a one-time link. Rejects with `AUTHENTICATION_FAILED` for a used or old one. */
  async openWithLink(linkToken: string): Promise<string> {
    const key = looksLikeLinkToken(linkToken) ? await this.repository.takeLink(hashSessionToken(linkToken)) : null;
    if (key?.active !== true) {
      const message = 'The link was used already, or is older than 10 minutes. Sign in with an API key.';
      throw new PlatformError('AUTHENTICATION_FAILED', message, 'token');
    }
    return this.open(callerBehind(key));
  }

  /** The `Set-Cookie` header that keeps a session of 12 hours in a browser. */
  cookieOf(token: string, place: Omit<SessionCookie, 'name'>): string {
    return writeSessionCookie({ name: this.cookieNameOf(place), ...place }, token, sessionMs / 1_000);
  }

  /** The `Set-Cookie` header that takes the cookie of a session out of a browser. */
  endedCookieOf(place: Omit<SessionCookie, 'name'>): string {
    return writeSessionCookie({ name: this.cookieNameOf(place), ...place }, '', 0);
  }

  /** Returns the tokens in a header `cookie` that this installation made, eight at most. Asks no store. */
  tokensIn(header: string | undefined): string[] {
    return sessionTokensIn(header)
      .filter((token) => this.isOwn(token))
      .slice(0, maxSessions);
  }

  /** Returns null for an unknown session, and for one that has ended. An end takes effect within 5 s. */
  async find(token: string): Promise<ConsoleSession | null> {
    const stored = await this.lookUp(token);
    if (stored?.key.active !== true || stored.key.accountState !== 'active') return null;
    const { accountId, id: apiKeyId, kind, isOperator } = stored.key;
    return { ...stored.session, accountId, apiKeyId, kind, isOperator, csrf: csrfTextOf(this.csrfKeys[0], token) };
  }

  /** Whether the header of a request proves that a page of the console sent it. Asks no store. */
  isCsrfTextOf(token: string, text: string): boolean {
    return isCsrfTextOf(this.csrfKeys, token, text);
  }

  /**
   * Returns the caller behind a session, as if it had sent its key. Rejects with `AUTHENTICATION_FAILED` when the session
   * has ended, and with `UNAUTHORIZED` when its account is not active. An end takes effect within 5 s.
   */
  async authenticate(token: string): Promise<Caller> {
    const stored = await this.lookUp(token);
    if (stored?.key.active !== true) {
      throw new PlatformError('AUTHENTICATION_FAILED', 'The session has ended. Sign in again.');
    }
    return callerBehind(stored.key);
  }

  /** Ends a session everywhere within 5 s. An unknown one is no error. */
  async end(token: string): Promise<void> {
    // A session that is known to have ended costs no statement, and texts that were never one empty no cache.
    if ((await this.lookUp(token)) === null) return;
    if (await this.repository.delete(hashSessionToken(token))) this.lookups.clear();
  }

  /** The name of the cookie of this installation for the console at a path. */
  private cookieNameOf(place: Omit<SessionCookie, 'name'>): string {
    return sessionCookieName(csrfTextOf(this.csrfKeys[0], place.path).slice(0, 10), place);
  }

  private isOwn(token: string): boolean {
    return isSessionToken(this.tokenKeys, token);
  }

  private async open({ apiKeyId }: Caller): Promise<string> {
    const token = newSessionToken(this.tokenKeys[0]);
    await this.repository.insert(hashSessionToken(token), apiKeyId);
    return token;
  }

  /** A text that this installation never made costs no query. */
  private async lookUp(token: string): Promise<StoredSession | null> {
    if (!this.isOwn(token)) return null;
    return (await this.lookups.find(hashSessionToken(token)))?.stored ?? null;
  }

  private async read(tokenHashes: readonly Uint8Array<ArrayBuffer>[]): Promise<SessionLookup[]> {
    const found = await this.repository.find(tokenHashes);
    const due = tokenHashes.filter((_, index) => found[index]?.key.active === true && found[index].isTouchDue);
    // Not awaited; the next read, 5 s later, makes up for a lost write.
    if (due.length > 0) void this.repository.touch(due).catch(() => undefined);
    return found.map((stored) => ({
      stored,
      active: stored?.key.active ?? false,
      expiresInMs: stored?.key.expiresInMs ?? null,
    }));
  }
}
