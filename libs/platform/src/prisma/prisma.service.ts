import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.js';
import { runPrepared } from './prepared-transaction.js';
import type { WholeTransaction } from './raw-queries.js';

/** How long a statement of a prepared transaction may take, including locks, in ms. */
const preparedTimeoutMs = 10_000;

export interface PrismaOptions {
  /** `postgresql://…`. */
  url: string;
  /** Maximum number of connections of this process. */
  poolSize?: number;
  /**
   * Query timeout in ms. The connection is then closed, since the server may have vanished; the server also cancels the
   * statement itself. Default: none, for processes with long queries.
   */
  queryTimeoutMs?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
}

/**
 * The database connection. Lazy: the first query connects, and an outage only fails the queries during it. Only
 * repositories use it.
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
      // Pipelines statements that are issued together. Supported by the driver but missing in its types.
      ...{ pipeline: true },
      ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs, statement_timeout: queryTimeoutMs }),
    });
    // Idle connections break when the server restarts; the pool replaces them, and the next query reports real errors.
    pool.on('error', () => undefined);
    const quiet = { onPoolError: () => undefined, onConnectionError: () => undefined };
    // The adapter has its own types of the same driver.
    const shared = pool as unknown as ConstructorParameters<typeof PrismaPg>[0];
    super({ adapter: new PrismaPg(shared, { ...quiet, disposeExternalPool: true }) });
    this.pool = pool;
    this.queryTimeoutMs = queryTimeoutMs;
  }

  /**
   * Runs a transaction of the request path. Its raw SQL statements bypass Prisma on a connection of the same pool and
   * are prepared there (docs/decisions/prepared-transactions.md).
   */
  async $prepared<Result>(work: (transaction: WholeTransaction) => Promise<Result>): Promise<Result> {
    return runPrepared(this.pool, preparedTimeoutMs, work);
  }

  override async $disconnect(): Promise<void> {
    await super.$disconnect();
    // Prisma ends the pool only if it used it.
    if (!this.pool.ending) await this.pool.end();
  }

  /** Resolves when the database responds. For readiness. */
  async ping(): Promise<void> {
    await this.$queryRaw`SELECT 1`;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
  }
}
