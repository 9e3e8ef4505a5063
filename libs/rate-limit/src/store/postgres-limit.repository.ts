import { PlatformError } from '#common';
import type { PrismaService } from '#platform/prisma';
import type {
  FailAnswer,
  FailureRule,
  Lease,
  LeaseAnswer,
  LeaseDemand,
  LimitStore,
  TakeAnswer,
  TakeDemand,
} from './limit-store.js';
import { dayPrefix } from '../window-keys.js';
import type { LimitWindow } from './limit-window.js';

/** Windows unused for this long are empty, in seconds: those of minutes, and those of days (`dayPrefix`). */
const forgottenAfterSeconds = 3_600;
const dayForgottenAfterSeconds = 26 * 3_600;

/** Calls one function of the migration per step. The connection is shared and not closed here. */
export class PostgresLimitStore implements LimitStore {
  // SQL: each step is one function of the database, which checks and takes all windows at once.
  constructor(
    private readonly prisma: PrismaService,
    private readonly window: LimitWindow,
  ) {}

  async take({ guard, windows, tokens, window: shape = this.window }: TakeDemand): Promise<TakeAnswer> {
    const keys = windows.map(({ key }) => key);
    const requests = windows.map((window) => window.requests);
    const tokenLimits = windows.map((window) => window.tokens);
    const { lengthMs, slotMs } = shape;
    return await this.call<TakeAnswer>(
      this.prisma.$queryRaw`
        SELECT rate_limit_take(${guard}, ${keys}::text[], ${requests}::bigint[], ${tokenLimits}::bigint[],
          ${tokens}::bigint, ${lengthMs}::bigint, ${slotMs}::bigint) AS answer`,
    );
  }

  async correct(keys: readonly string[], slot: number, change: number): Promise<void> {
    await this.call<unknown>(
      this.prisma.$queryRaw`
        SELECT rate_limit_correct(${[...keys]}::text[], ${slot}::bigint, ${change}::bigint)::text AS answer`,
    );
  }

  async fail(guard: string, { max, window, blockMs }: FailureRule): Promise<FailAnswer> {
    return await this.call<FailAnswer>(
      this.prisma.$queryRaw`
        SELECT rate_limit_fail(${guard}, ${max}::bigint, ${window.lengthMs}::bigint, ${window.slotMs}::bigint,
          ${blockMs}::bigint) AS answer`,
    );
  }

  async open({ leaseId, keys, limits, lifetimeMs }: LeaseDemand): Promise<LeaseAnswer> {
    return await this.call<LeaseAnswer>(
      this.prisma.$queryRaw`
        SELECT rate_limit_open(${leaseId}, ${[...keys]}::text[], ${[...limits]}::bigint[], ${lifetimeMs}::bigint)
          AS answer`,
    );
  }

  async renew(leases: readonly Lease[], lifetimeMs: number): Promise<void> {
    const ids = leases.map(({ leaseId }) => leaseId);
    // A lease that has expired is another's room by now.
    await this.call<unknown>(
      this.prisma.$queryRaw`
        WITH renewed AS (
          UPDATE rate_limit_leases SET expires_at = clock_timestamp() + ${lifetimeMs}::bigint * interval '1 ms'
           WHERE lease_id = ANY (${ids}::text[]) AND expires_at > clock_timestamp() RETURNING 1
        )
        SELECT count(*)::int AS answer FROM renewed`,
    );
  }

  async release({ leaseId }: Lease): Promise<void> {
    await this.call<unknown>(
      this.prisma.$queryRaw`
        WITH released AS (DELETE FROM rate_limit_leases WHERE lease_id = ${leaseId} RETURNING 1)
        SELECT count(*)::int AS answer FROM released`,
    );
  }

  /** Deletes leases of requests whose replica died, up to a limit; resolves to their number. */
  async forgetLeases(max: number): Promise<number> {
    return await this.prisma.$executeRaw`
      DELETE FROM rate_limit_leases WHERE (key, lease_id) IN (
        SELECT key, lease_id FROM rate_limit_leases WHERE expires_at < now() LIMIT ${max}::int FOR UPDATE SKIP LOCKED)`;
  }

  /** Deletes windows that nothing can be left in, up to a limit; resolves to their number. */
  async forget(max: number): Promise<number> {
    return await this.prisma.$executeRaw`
      DELETE FROM rate_limit_windows WHERE key = ANY (ARRAY(
        SELECT key FROM rate_limit_windows WHERE touched_at < now() - ${forgottenAfterSeconds}::int * interval '1 second'
          AND (NOT starts_with(key, ${dayPrefix})
            OR touched_at < now() - ${dayForgottenAfterSeconds}::int * interval '1 second')
          LIMIT ${max}::int FOR UPDATE SKIP LOCKED))`;
  }

  async ping(): Promise<void> {
    await this.prisma.ping();
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  private async call<Answer>(query: PromiseLike<unknown>): Promise<Answer> {
    try {
      const [row] = (await query) as { answer: Answer }[];
      if (row === undefined) throw new Error('The database did not answer a function of the rate limits.');
      return row.answer;
    } catch (error) {
      throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check rate limits right now.', null, {
        cause: error,
      });
    }
  }
}
