import { type MessageOrigin, unknownOrigin } from '../../contract/message-bus.js';

/** Shortest time between two queries of sessions, in ms. */
const lookEveryMs = 100;

/**
 * How long the sessions of a query count, in ms. The number of a session may belong to another one later, and pools may
 * be new.
 */
const keepMs = 30_000;

interface Row {
  /** Null in the row that says whether there are pools. */
  pid: number | null;
  role: string | null;
  hasPools: boolean;
}

/** Sessions are read only where a role of a pool exists. */
const sql = `
WITH pools AS (SELECT EXISTS (SELECT FROM pg_roles WHERE starts_with(rolname, $1)) AS "hasPools")
SELECT pid, role, "hasPools" FROM pools LEFT JOIN LATERAL (
  SELECT pid, usename AS role FROM pg_stat_activity
   WHERE "hasPools" AND datname = current_database() AND usename IS NOT NULL) AS sessions ON true`;

export interface SenderPoolsOptions {
  query(sql: string, values: string[]): Promise<{ rows: Row[] }>;
  /** Prefix of the names of the roles of pools. */
  prefix: string;
  /** Called after each query, even one that failed. */
  onLook: () => void;
  nowMs?: () => number;
}

/**
 * Knows the pools of sessions that send notifications. The server adds the number of its session to each notification.
 */
export class SenderPools {
  private pools = new Map<number, string | null>();
  /** False when there are no pools, so that every session belongs to the installation. */
  private hasPools = true;
  private lookedAtMs = -Infinity;
  private isLooking = false;

  constructor(private readonly options: SenderPoolsOptions) {}

  /** Returns `unknownOrigin` for a session that was not seen before. The next query identifies it. */
  originOf(pid: number): MessageOrigin {
    const pool = this.hasPools ? this.pools.get(pid) : null;
    if (pool === undefined || this.nowMs() - this.lookedAtMs > keepMs) this.look();
    return pool === undefined ? unknownOrigin : pool;
  }

  /** Queries now, or when the pause after the last query has passed. */
  private look(): void {
    if (this.isLooking) return;
    this.isLooking = true;
    const wait = this.lookedAtMs + lookEveryMs - this.nowMs();
    if (wait > 0) setTimeout(() => void this.read(), wait).unref();
    else void this.read();
  }

  private async read(): Promise<void> {
    this.lookedAtMs = this.nowMs();
    try {
      const { rows } = await this.options.query(sql, [this.options.prefix]);
      this.hasPools = rows.some(({ hasPools }) => hasPools);
      this.pools = new Map(rows.flatMap(({ pid, role }) => (pid === null ? [] : [[pid, this.poolOf(role)] as const])));
    } catch {
      // The server is unavailable, and so is the bus.
    } finally {
      this.isLooking = false;
      this.options.onLook();
    }
  }

  private poolOf(role: string | null): string | null {
    return role?.startsWith(this.options.prefix) === true ? role : null;
  }

  private nowMs(): number {
    return this.options.nowMs?.() ?? performance.now();
  }
}
