import pg from 'pg';
import { settlesWithin } from '../../contract/store-call.js';

/**
 * Pause between two checks, in ms: with pools, while a session of a pool keeps a transaction open, and without pools.
 */
const lookEveryMs = 1_000;
const lookAgainMs = 250;
const idleEveryMs = 30_000;

/**
 * How long a transaction of a pool may last, and how long one may that others wait for, in s. Transactions of workers
 * last milliseconds.
 */
const maxTransactionSeconds = 10;
const maxBlockingSeconds = 2;

/** How long `close` waits for the check in progress, in ms: a single statement may take 5 s. */
const closeWithinMs = 2_000;

/**
 * When a pool is locked out: so many checks within a period found new sessions to end, in a burst or again and again.
 * Sessions that wait for a lock, a disk or another server themselves do not count. Honest workers do so while the
 * server is slow, and the session that holds them up is found by its own row.
 */
const lockOuts = [
  { looks: 5, periodMs: 60_000 },
  { looks: 20, periodMs: 3_600_000 },
];
const rememberedMs = Math.max(...lockOuts.map(({ periodMs }) => periodMs));

/** The age from which a transaction may soon hold up others, in s. */
const suspectSeconds = 0.2;

/**
 * Ends harmful sessions. A role may change its own time limits, so limits of the role stop nobody. A session that holds
 * the lock of a table, an advisory lock or the queue of notifications stops all others, and is ended.
 */
const endSessions = `
WITH sessions AS (
  SELECT pid, backend_start, usename, state, wait_event_type, extract(epoch FROM clock_timestamp() - xact_start) AS open_seconds
    FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
), blocking AS (
  SELECT holder.pid FROM sessions waiting, unnest(pg_blocking_pids(waiting.pid)) AS holder(pid)
   WHERE waiting.wait_event_type = 'Lock' AND NOT waiting.usename = ANY ($1)
), found AS (
  SELECT pid, concat(pid, ' ', backend_start) AS session, usename, open_seconds,
         coalesce(wait_event_type IN ('Lock', 'LWLock', 'IO', 'IPC'), false) AS waits, CASE
           WHEN open_seconds > $2 THEN 'its transaction lasted too long'
           WHEN open_seconds > $3 AND pid IN (SELECT pid FROM blocking) THEN 'others waited for its transaction'
           WHEN state = 'idle' AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)
             THEN 'it kept an advisory lock'
         END AS reason
    FROM sessions WHERE usename = ANY ($1)
)
SELECT session, usename AS role, reason, waits, CASE WHEN reason IS NULL THEN false ELSE pg_terminate_backend(pid) END AS ended
  FROM found WHERE reason IS NOT NULL OR open_seconds > $4`;

interface FoundSession {
  /** Identifies the session, even after its number belongs to another one. */
  session: string;
  role: string;
  /** Null when the session is not ended but checked again soon. */
  reason: string | null;
  /** True when the session waits for a lock, a disk or another server. */
  waits: boolean;
  ended: boolean;
}

/** Counts the sessions of a role that were ended, and how often the role was locked out. */
export interface PoolSessionCounts {
  ended: number;
  lockedOut: number;
}

export interface PoolSessionGuardOptions {
  /** URL of the role that owns the queue and is a member of the roles of pools. */
  url: string;
  /** Schema of the queue, whose policies name the roles of pools. */
  schema: string;
  warn: (message: string, error?: unknown) => void;
}

/**
 * Ends the sessions of pools that hold up others, and locks out a pool that goes on. It has its own connection, because
 * the connections of the queue may all be waiting.
 */
export class PoolSessionGuard {
  private readonly endings = new Map<string, number[]>();
  /** The times at which sessions were ended. A session that cannot end yet is found again. */
  private readonly endedSessions = new Map<string, number>();
  private readonly counted = new Map<string, PoolSessionCounts>();
  private client: pg.Client | null = null;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(private readonly options: PoolSessionGuardOptions) {}

  start(): void {
    this.looking = this.look();
  }

  /** What the guard has done since the start, by role of a pool. */
  get counts(): ReadonlyMap<string, PoolSessionCounts> {
    return this.counted;
  }

  /** Resolves when the check in progress has ended. After 2 s its statement is left to the server. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    const ended = this.looking.then(() => this.client?.end());
    if (!(await settlesWithin(ended, closeWithinMs))) this.drop();
  }

  private async look(): Promise<void> {
    let pauseMs = lookEveryMs;
    try {
      const client = await this.connected();
      const roles = this.isStopping() ? [] : await this.poolRoles(client);
      for (const role of roles) this.countsOf(role);
      if (roles.length === 0) pauseMs = idleEveryMs;
      else if (!this.isStopping() && (await this.endHarmful(client, roles))) pauseMs = lookAgainMs;
    } catch (error) {
      if (!this.isStopping()) this.options.warn('The sessions of pools cannot be watched.', error);
      this.drop();
    }
    if (!this.isStopping()) this.timer = setTimeout(() => this.start(), pauseMs).unref();
  }

  /** Returns true when the guard is closed, which may happen during any await. */
  private isStopping(): boolean {
    return this.isClosed;
  }

  private countsOf(role: string): PoolSessionCounts {
    const counts = this.counted.get(role) ?? { ended: 0, lockedOut: 0 };
    this.counted.set(role, counts);
    return counts;
  }

  private async connected(): Promise<pg.Client> {
    if (this.client !== null) return this.client;
    const client = new pg.Client({
      connectionString: this.options.url,
      application_name: 'sluice-pool-guard',
      connectionTimeoutMillis: 2_000,
      query_timeout: 5_000,
    });
    client.on('error', () => this.drop());
    await client.connect();
    this.client = client;
    return client;
  }

  private drop(): void {
    const { client } = this;
    this.client = null;
    client?.end().catch(() => undefined);
  }

  private async poolRoles(client: pg.Client): Promise<string[]> {
    const sql = `SELECT DISTINCT unnest(roles)::text AS role FROM pg_policies WHERE schemaname = $1`;
    const { rows } = await client.query<{ role: string }>(sql, [this.options.schema]);
    return rows.map(({ role }) => role);
  }

  /** Resolves to true when the next check should follow soon. */
  private async endHarmful(client: pg.Client, roles: string[]): Promise<boolean> {
    const values = [roles, maxTransactionSeconds, maxBlockingSeconds, suspectSeconds];
    const { rows } = await client.query<FoundSession>(endSessions, values);
    const ended = rows.filter((row) => row.ended && this.isNew(row.session));
    for (const { role, reason } of this.isStopping() ? [] : ended) {
      this.countsOf(role).ended += 1;
      this.options.warn(`A session of the pool role ${role} was ended: ${reason}.`);
    }
    for (const role of new Set(ended.filter(({ waits }) => !waits).map((row) => row.role))) {
      if (this.isStopping()) break;
      if (this.isRepeated(role)) await this.lockOut(client, role);
    }
    return rows.length > 0;
  }

  private isNew(session: string): boolean {
    const now = performance.now();
    for (const [known, atMs] of this.endedSessions) {
      if (now - atMs < rememberedMs) break;
      this.endedSessions.delete(known);
    }
    if (this.endedSessions.has(session)) return false;
    this.endedSessions.set(session, now);
    return true;
  }

  /** Counts checks and not sessions: a moment in which the server is slow may hold up many sessions at once. */
  private isRepeated(role: string): boolean {
    const now = performance.now();
    const checks = [...(this.endings.get(role) ?? []).filter((atMs) => now - atMs < rememberedMs), now];
    this.endings.set(role, checks);
    return lockOuts.some(({ looks, periodMs }) => checks.filter((atMs) => now - atMs < periodMs).length >= looks);
  }

  private async lockOut(client: pg.Client, role: string): Promise<void> {
    this.endings.delete(role);
    try {
      await client.query(`ALTER ROLE ${pg.escapeIdentifier(role)} NOLOGIN`);
      this.countsOf(role).lockedOut += 1;
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
      this.options.warn(
        `The pool role ${role} held up others again and again and is locked out: see docs/operate/security.md.`,
      );
    } catch (error) {
      this.options.warn(`The pool role ${role} holds up others and cannot be locked out: ALTER ROLE … NOLOGIN.`, error);
    }
  }
}
