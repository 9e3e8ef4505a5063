import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.js';

export interface PrismaOptions {
  /** `postgresql://…`. */
  url: string;
  /** Connections this process may hold. */
  poolSize?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
}

/**
 * The connection to the database. Lazy: the first query connects, and a database that is away for a minute fails
 * the queries of that minute and nothing else. Repositories alone use it.
 */
export class PrismaService extends PrismaClient {
  constructor(options: PrismaOptions) {
    const adapter = new PrismaPg(
      {
        connectionString: options.url,
        max: options.poolSize ?? 10,
        application_name: options.applicationName ?? 'sluice',
        connectionTimeoutMillis: 5_000,
        keepAlive: true,
      },
      // Idle connections break when the server restarts; the pool replaces them, the next query reports real trouble.
      { onPoolError: () => undefined, onConnectionError: () => undefined },
    );
    super({ adapter });
  }

  /** Resolves when the database answers. For readiness. */
  async ping(): Promise<void> {
    await this.$queryRaw`SELECT 1`;
  }

  async onModuleDestroy(): Promise<void> {
    await this.$disconnect();
  }
}
