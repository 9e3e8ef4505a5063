import type { ApiConfig } from '#platform/config';
import { logReadiness, Readiness, type ReadinessCheck } from '#platform/health';
import type { Logger } from '#platform/logging';
import type { MigrationCheck } from '#platform/migrations';
import type { PrismaService } from '#platform/prisma';
import type { QueueTransport } from '#queue';
import type { LimitStore } from '#rate-limit';
import type { ArtifactStore } from '#storage';

/** Dependencies of the readiness checks. */
export interface ReadinessDependencies {
  prisma: Pick<PrismaService, 'ping'>;
  migrations: Pick<MigrationCheck, 'check'>;
  transport: Pick<QueueTransport, 'ping'>;
  limitStore: Pick<LimitStore, 'ping'>;
  artifacts: Pick<ArtifactStore, 'ping'>;
  logger: Logger;
}

type ReadinessConfig = Pick<ApiConfig, 'queueUrl' | 'limitsRedisUrl' | 'rateLimits'>;

/**
 * Builds the readiness checks of the API. Partial checks cover what only some routes need. Database and queue are shared
 * by all replicas: while one is down, each replica responds with its own 503 (docs/decisions/api-readiness.md).
 */
export function createReadiness(config: ReadinessConfig, sources: ReadinessDependencies): Readiness {
  const { prisma, migrations, transport, limitStore, artifacts, logger } = sources;
  // Routes that run no model work without this store.
  const limits: ReadinessCheck = { name: 'limits', check: () => limitStore.ping(), isPartial: true };
  return new Readiness(
    [
      { name: 'database', check: () => prisma.ping(), isNeededAtStart: true },
      { name: 'migrations', check: () => migrations.check(), isNeededAtStart: true },
      { name: 'queue', check: () => transport.ping(), isNeededAtStart: true },
      ...(hasSeparateLimitsRedis(config) ? [limits] : []),
      { name: 'storage', check: () => artifacts.ping(), isPartial: true },
    ],
    logReadiness(logger),
  );
}

/** True when the rate-limit windows have a Redis of their own. Otherwise the queue or database check covers them. */
function hasSeparateLimitsRedis({ rateLimits, limitsRedisUrl, queueUrl }: ReadinessConfig): boolean {
  return rateLimits && limitsRedisUrl !== null && limitsRedisUrl !== queueUrl;
}
