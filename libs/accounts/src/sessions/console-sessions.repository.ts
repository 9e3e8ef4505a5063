import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import { type KeyLookup, lookupOf, type LookupRow } from '../accounts.repository.js';

/** How long a session lasts, in ms. */
export const sessionMs = 12 * 3_600_000;
/** Open sessions of one key: a key that is signed in again and again fills no table. */
const maxSessionsPerKey = 20;
/** How long a one-time link can be used, in ms. */
export const linkMs = 10 * 60_000;

/** The part of a session that its owner sees, besides the key. */
export interface SessionRow {
  accountName: string;
  description: string;
  last6: string;
  expiresAt: Date;
}

export interface StoredSession {
  key: KeyLookup;
  session: SessionRow;
  /** Its use is not recorded for the present minute. */
  isTouchDue: boolean;
}

/** Sessions of the console, and the links that open one. The database's clock decides what has expired. */
@Injectable()
export class ConsoleSessionsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Opens a session; it ends with the key at the latest. Of a key's sessions, the newest stay. */
  async insert(tokenHash: Uint8Array<ArrayBuffer>, apiKeyId: string): Promise<void> {
    // SQL: the database's clock dates the session; Prisma cannot delete what is behind an offset.
    await this.prisma.$executeRaw`
      DELETE FROM console_sessions WHERE token_hash IN (
        SELECT token_hash FROM console_sessions WHERE api_key_id = ${apiKeyId}::uuid
         ORDER BY created_at DESC OFFSET ${maxSessionsPerKey - 1}::int)`;
    await this.prisma.$executeRaw`
      INSERT INTO console_sessions (token_hash, api_key_id, expires_at)
      SELECT ${tokenHash}::bytea, id, LEAST(now() + ${sessionMs}::float8 * interval '1 ms', expires_at)
        FROM api_keys WHERE id = ${apiKeyId}::uuid`;
  }

  /** Returns null for each unknown session; the key is not active when session or key have ended. */
  async find(tokenHashes: readonly Uint8Array<ArrayBuffer>[]): Promise<(StoredSession | null)[]> {
    const wanted = tokenHashes.map(hexOf);
    // SQL: every request of a session authenticates by this one statement.
    const rows = await this.prisma.$queryRaw<FoundSession[]>`
      SELECT k.id, k.account_id, k.kind::text AS kind, a.tier::text AS tier, k.model_privacy::text AS model_privacy,
             a.beta_access, a.is_operator, a.state::text AS state,
             s.expires_at > now() AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AS active,
             (extract(epoch FROM LEAST(s.expires_at, k.expires_at) - now()) * 1000)::float8 AS expires_in_ms,
             a.name AS "accountName", k.description, k.last6, s.expires_at AS "expiresAt",
             s.last_seen_at < now() - interval '1 minute' AS "isTouchDue", encode(s.token_hash, 'hex') AS "tokenHash"
        FROM console_sessions s JOIN api_keys k ON k.id = s.api_key_id JOIN accounts a ON a.id = k.account_id
       WHERE s.token_hash = ANY (SELECT decode(hex, 'hex') FROM unnest(${wanted}::text[]) hex)`;
    const byHash = new Map(rows.map((row) => [row.tokenHash, row]));
    return wanted.map((tokenHash) => storedSession(byHash.get(tokenHash)));
  }

  /** Records the use of sessions to the minute; higher precision would write a row per request. */
  async touch(tokenHashes: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    // SQL: the database's clock dates the use.
    await this.prisma.$executeRaw`
      UPDATE console_sessions SET last_seen_at = now() WHERE last_seen_at < now() - interval '1 minute'
         AND token_hash = ANY (SELECT decode(hex, 'hex') FROM unnest(${tokenHashes.map(hexOf)}::text[]) hex)`;
  }

  /** Returns whether there was one. */
  async delete(tokenHash: Uint8Array<ArrayBuffer>): Promise<boolean> {
    return (await this.prisma.consoleSession.deleteMany({ where: { tokenHash } })).count > 0;
  }

  async insertLink(tokenHash: Uint8Array<ArrayBuffer>, apiKeyId: string): Promise<void> {
    // SQL: the database's clock dates the link.
    await this.prisma.$executeRaw`
      INSERT INTO console_links (token_hash, api_key_id, expires_at)
      VALUES (${tokenHash}::bytea, ${apiKeyId}::uuid, now() + ${linkMs}::float8 * interval '1 ms')`;
  }

  /** Uses a link up: of several calls with one token, one gets the key. Null: unknown, used, or expired. */
  async takeLink(tokenHash: Uint8Array<ArrayBuffer>): Promise<KeyLookup | null> {
    // SQL: one statement decides between replicas.
    const rows = await this.prisma.$queryRaw<LookupRow[]>`
      WITH taken AS (
        DELETE FROM console_links WHERE token_hash = ${tokenHash} RETURNING api_key_id, expires_at
      )
      SELECT k.id, k.account_id, k.kind::text AS kind, a.tier::text AS tier, k.model_privacy::text AS model_privacy,
             a.beta_access, a.is_operator, a.state::text AS state,
             k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AS active,
             (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS expires_in_ms
        FROM taken JOIN api_keys k ON k.id = taken.api_key_id JOIN accounts a ON a.id = k.account_id
       WHERE taken.expires_at > now()`;
    return lookupOf(rows[0]);
  }

  /** Returns the oldest valid ADMIN key of an operator account, or of the account that is named; null without one. */
  async findAdminKey(accountId: string | null): Promise<string | null> {
    // SQL: the database's clock decides what has expired.
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT k.id::text AS id FROM api_keys k JOIN accounts a ON a.id = k.account_id
       WHERE k.kind = 'ADMIN' AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
         AND a.state = 'active'
         AND CASE WHEN ${accountId}::uuid IS NULL THEN a.is_operator ELSE a.id = ${accountId}::uuid END
       ORDER BY a.created_at, k.created_at, k.id LIMIT 1`;
    return rows[0]?.id ?? null;
  }

  /** Deletes up to `max` sessions and links that have expired; resolves to their number. */
  async deleteExpired(max: number): Promise<number> {
    // SQL: the database's clock decides what has expired; Prisma cannot limit a deletion.
    const sessions = await this.prisma.$executeRaw`
      DELETE FROM console_sessions WHERE token_hash IN (
        SELECT token_hash FROM console_sessions WHERE expires_at < now() LIMIT ${max}::int FOR UPDATE SKIP LOCKED)`;
    const links = await this.prisma.$executeRaw`
      DELETE FROM console_links WHERE token_hash IN (
        SELECT token_hash FROM console_links WHERE expires_at < now() LIMIT ${max - sessions}::int FOR UPDATE SKIP LOCKED)`;
    return sessions + links;
  }
}

type FoundSession = LookupRow & SessionRow & Pick<StoredSession, 'isTouchDue'> & { tokenHash: string };

function storedSession(row: FoundSession | undefined): StoredSession | null {
  const key = lookupOf(row);
  if (row === undefined || key === null) return null;
  const { accountName, description, last6, expiresAt, isTouchDue } = row;
  return { key, session: { accountName, description, last6, expiresAt }, isTouchDue };
}

function hexOf(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash).toString('hex');
}
