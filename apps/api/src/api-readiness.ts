import { ApiConfig } from '#platform/config';
import { logReadiness, Readiness, type ReadinessCheck } from '#platform/health';
import { Inject, Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { MigrationCheck } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { QueueTransport } from '#queue';
import { LimitStore } from '#rate-limit';
import { ArtifactStore } from '#storage';

type ReadinessConfig = Pick<ApiConfig, 'queueUrl' | 'limitsRedisUrl' | 'rateLimits'>;

/**
 * The readiness checks of the API. Partial checks cover what only some routes need. Database and queue are shared
 * by all replicas: while one is down, each replica responds with its own 503 (docs/decisions/api-readiness.md).
 */
@Injectable()
export class ApiReadiness extends Readiness {
  constructor(
    @Inject(ApiConfig) config: ReadinessConfig,
    prisma: PrismaService,
    migrations: MigrationCheck,
    transport: QueueTransport,
    limitStore: LimitStore,
    artifacts: ArtifactStore,
    logger: Logger,
  ) {
    // Routes that run no model work without this store.
    const limits: ReadinessCheck = { name: 'limits', check: () => limitStore.ping(), isPartial: true };
    super(
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
}

/** True when the rate-limit windows have a Redis of their own. Otherwise the queue or database check covers them. */
function hasSeparateLimitsRedis({ rateLimits, limitsRedisUrl, queueUrl }: ReadinessConfig): boolean {
  return rateLimits && limitsRedisUrl !== null && limitsRedisUrl !== queueUrl;
}
