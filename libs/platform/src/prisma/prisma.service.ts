import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.js';
import { runPrepared } from './prepared-transaction.js';
import type { WholeTransaction } from './raw-queries.js';

/** How long a statement of a prepared transaction may wait, for locks included, in ms. */
const preparedTimeoutMs = 10_000;

export interface PrismaOptions {
  /** `postgresql://…`. */
  url: string;
  /** Connections this process may hold. */
  poolSize?: number;
  /**
   * How long one query may take, in ms; its connection is then given up, since the other side may be gone without a
   * word, and the server, which may not notice, ends the statement by itself. Default: as long as it likes, for processes
   * whose queries are long.
   */
  queryTimeoutMs?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
}

/**
 * The connection to the database. Lazy: the first query connects, and a database that is away for a minute fails
 * the queries of that minute and nothing else. Repositories alone use it.
 */
export class PrismaService extends PrismaClient {
  /** As in the options. */
  readonly queryTimeoutMs: number | undefined;
  private readonly pool: pg.Pool;

  constructor(options: PrismaOptions) {
    const { queryTimeoutMs } = options;
    const pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolSize ?? 10,
      application_name: options.applicationName ?? 'sluice',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      // Statements that are given at once leave at once. Known to the driver, though not to its types.
      ...{ pipeline: true },
      ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs, statement_timeout: queryTimeoutMs }),
    });
    // Idle connections break when the server restarts; the pool replaces them, the next query reports real trouble.
    pool.on('error', () => undefined);
    const quiet = { onPoolError: () => undefined, onConnectionError: () => undefined };
    // The adapter brings other types of the same driver.
    const shared = pool as unknown as ConstructorParameters<typeof PrismaPg>[0];
    super({ adapter: new PrismaPg(shared, { ...quiet, disposeExternalPool: true }) });
    this.pool = pool;
    this.queryTimeoutMs = queryTimeoutMs;
  }

  /**
   * The transaction of what runs for every request: its statements, raw SQL alone, go past Prisma on a connection of the
   * same pool and are prepared there (docs/decisions/prepared-transactions.md).
   */
  async $prepared<Result>(work: (transaction: WholeTransaction) => Promise<Result>): Promise<Result> {
    return runPrepared(this.pool, preparedTimeoutMs, work);
  }

  override async $disconnect(): Promise<void> {
    await super.$disconnect();
    // Prisma ends the pool only if it has used it.
    if (!this.pool.ending) await this.pool.end();
  }

  /** Resolves when the database answers. For readiness. */
  async ping(): Promise<void> {
    await this.$queryRaw`SELECT 1`;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
  }
}
