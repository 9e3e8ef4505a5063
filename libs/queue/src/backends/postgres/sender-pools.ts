import { type MessageOrigin, unknownOrigin } from '../store.js';

/** Shortest time between two looks, in ms. */
const lookEveryMs = 1_000;

/** A number of a session may belong to another one later: all are looked up again after this time, in ms. */
const keepMs = 30_000;

interface Session {
  pid: number;
  role: string;
}

/** Whose sessions send notifications: the server adds the number of the session to each. */
export class SenderPools {
  private pools = new Map<number, string | null>();
  private lookedAtMs = -Infinity;
  private isLooking = false;

  constructor(
    private readonly query: (sql: string) => Promise<{ rows: Session[] }>,
    /** What the names of the roles of pools begin with. */
    private readonly prefix: string,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Returns `unknown` for a session that was not seen before; the next look, within a second, names it. */
  originOf(pid: number): MessageOrigin {
    const age = this.nowMs() - this.lookedAtMs;
    const pool = this.pools.get(pid);
    if (age > keepMs || (pool === undefined && age > lookEveryMs)) void this.look();
    return pool === undefined ? unknownOrigin : pool;
  }

  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    this.lookedAtMs = this.nowMs();
    try {
      const { rows } = await this.query(
        `SELECT pid, usename AS role FROM pg_stat_activity WHERE datname = current_database() AND usename IS NOT NULL`,
      );
      this.pools = new Map(rows.map(({ pid, role }) => [pid, role.startsWith(this.prefix) ? role : null]));
    } catch {
      // The server is away; so is the bus.
    } finally {
      this.isLooking = false;
    }
  }
}
