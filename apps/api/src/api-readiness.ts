import type { ApiConfig } from '#platform/config';
import { logReadiness, Readiness, type ReadinessCheck } from '#platform/health';
import type { Logger } from '#platform/logging';
import type { MigrationCheck } from '#platform/migrations';
import type { PrismaService } from '#platform/prisma';
import type { QueueTransport } from '#queue';
import type { LimitStore } from '#rate-limit';
import type { ArtifactStore } from '#storage';

/** What the api asks. */
export interface ReadinessDependencies {
  prisma: Pick<PrismaService, 'ping'>;
  migrations: Pick<MigrationCheck, 'check'>;
  transport: Pick<QueueTransport, 'ping'>;
  limitStore: Pick<LimitStore, 'ping'>;
  artifacts: Pick<ArtifactStore, 'ping'>;
  logger: Logger;
}

type ReadinessConfig = Pick<ApiConfig, 'queueUrl' | 'limitsRedisUrl' | 'rateLimits'>;

/** What the api, or some of its routes, cannot do without. */
export function readinessOf(config: ReadinessConfig, sources: ReadinessDependencies): Readiness {
  const { prisma, migrations, transport, limitStore, artifacts, logger } = sources;
  // Routes without models go on without that store.
  const limits: ReadinessCheck = { name: 'limits', check: () => limitStore.ping(), isPartial: true };
  return new Readiness(
    [
      { name: 'database', check: () => prisma.ping() },
      { name: 'migrations', check: () => migrations.check() },
      { name: 'queue', check: () => transport.ping() },
      ...(limitsLiveApart(config) ? [limits] : []),
      { name: 'storage', check: () => artifacts.ping(), isPartial: true },
    ],
    logReadiness(logger),
  );
}

/** Whether the windows of limits are in a Redis of their own: in that of the queue, or the database, another check tells. */
function limitsLiveApart({ rateLimits, limitsRedisUrl, queueUrl }: ReadinessConfig): boolean {
  return rateLimits && limitsRedisUrl !== null && limitsRedisUrl !== queueUrl;
}
