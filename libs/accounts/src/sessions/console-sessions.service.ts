import { type Clock, deriveKey, PlatformError, systemClock } from '#common';
import { DatabaseConfig } from '#platform/config';
import { Inject, Injectable, Optional } from '#platform/injection';
import { AccountsService, type Caller, callerBehind } from '../accounts.service.js';
import { KeyCache } from '../key-cache.js';
import { ConsoleSessionsRepository, sessionMs, type SessionRow } from './console-sessions.repository.js';
import { type SessionCookie, sessionCookiePrefix, writeSessionCookie } from './session-cookie.js';
import { csrfTextOf, hashSessionToken, isCsrfTextOf, looksLikeSessionToken, newSessionToken } from './session-token.js';

/** A session and the text that its requests repeat (`csrfTextOf`). */
export interface ConsoleSession extends SessionRow {
  csrf: string;
}

/**
 * Sessions of the console: an API key, or a one-time link, is exchanged for a token in a cookie. A session ends after 12
 * hours, by signing out, and with its key.
 */
@Injectable()
export class ConsoleSessionsService {
  private readonly keys: KeyCache;
  /** The first one writes, all read. */
  private readonly csrfKeys: readonly [Buffer, ...Buffer[]];

  constructor(
    private readonly repository: ConsoleSessionsRepository,
    @Inject(AccountsService) private readonly accounts: Pick<AccountsService, 'authenticate'>,
    /** Replicas with the same key accept each other's sessions. */
    @Inject(DatabaseConfig) { secretKeys: [newest, ...older] }: Pick<DatabaseConfig, 'secretKeys'>,
    @Optional() clock: Clock = systemClock,
  ) {
    this.keys = new KeyCache((tokenHash) => this.readKey(tokenHash), clock);
    const keyOf = (secretKey: string) => deriveKey(secretKey, 'console sessions');
    this.csrfKeys = [keyOf(newest), ...older.map(keyOf)];
  }

  /** Opens a session for an API key; resolves to its token. Rejects as `AccountsService.authenticate` does. */
  async openWithKey(apiKey: string): Promise<string> {
    return this.open(await this.accounts.authenticate(apiKey));
  }

  /** Opens a session with the token of a one-time link. Rejects with `AUTHENTICATION_FAILED` for a used or old one. */
  async openWithLink(linkToken: string): Promise<string> {
    const key = looksLikeSessionToken(linkToken) ? await this.repository.takeLink(hashSessionToken(linkToken)) : null;
    if (key?.active !== true) {
      const message = 'The link was used already, or is older than 10 minutes. Sign in with an API key.';
      throw new PlatformError('AUTHENTICATION_FAILED', message, 'token');
    }
    return this.open(callerBehind(key));
  }

  /** The name of the cookie of this installation for the console at `path`. */
  cookieNameOf(path: string): string {
    return `${sessionCookiePrefix}${csrfTextOf(this.csrfKeys[0], path).slice(0, 10)}`;
  }

  /** The `Set-Cookie` header that keeps a session of 12 hours in a browser. */
  cookieOf(token: string, { path, isSecure }: Omit<SessionCookie, 'name'>): string {
    return writeSessionCookie({ name: this.cookieNameOf(path), path, isSecure }, token, sessionMs / 1_000);
  }

  /** The `Set-Cookie` header that takes the cookie of a session out of a browser. */
  endedCookieOf({ path, isSecure }: Omit<SessionCookie, 'name'>): string {
    return writeSessionCookie({ name: this.cookieNameOf(path), path, isSecure }, '', 0);
  }

  /** Returns null for an unknown session, and for one that has ended. */
  async find(token: string): Promise<ConsoleSession | null> {
    if (!looksLikeSessionToken(token)) return null;
    const session = await this.repository.find(hashSessionToken(token));
    return session && { ...session, csrf: csrfTextOf(this.csrfKeys[0], token) };
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
    const key = looksLikeSessionToken(token) ? await this.keys.find(hashSessionToken(token)) : null;
    if (key?.active !== true) {
      throw new PlatformError('AUTHENTICATION_FAILED', 'The session has ended. Sign in again.');
    }
    return callerBehind(key);
  }

  /** Ends a session everywhere within 5 s. An unknown one is no error. */
  async end(token: string): Promise<void> {
    if (!looksLikeSessionToken(token)) return;
    // Texts that were never a session empty no cache.
    if (await this.repository.delete(hashSessionToken(token))) this.keys.clear();
  }

  private async open({ apiKeyId }: Caller): Promise<string> {
    const token = newSessionToken();
    await this.repository.insert(hashSessionToken(token), apiKeyId);
    return token;
  }

  private async readKey(tokenHash: Uint8Array<ArrayBuffer>) {
    const key = await this.repository.findKey(tokenHash);
    // Not awaited; the next read, 5 s later, makes up for a lost write.
    if (key?.active) void this.repository.touch(tokenHash).catch(() => undefined);
    return key;
  }
}
