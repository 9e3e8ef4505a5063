import { logReadiness, Readiness } from '#platform/health';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { MigrationCheck } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { QueueTransport } from '#queue';
import { ArtifactStore } from '#storage';

/** The readiness checks of ops. */
@Injectable()
export class OpsReadiness extends Readiness {
  constructor(
    prisma: PrismaService,
    migrations: MigrationCheck,
    transport: QueueTransport,
    artifacts: ArtifactStore,
    logger: Logger,
  ) {
    super(
      [
        { name: 'database', check: () => prisma.ping() },
        { name: 'migrations', check: () => migrations.check() },
        { name: 'queue', check: () => transport.ping() },
        { name: 'storage', check: () => artifacts.ping(), isPartial: true },
      ],
      logReadiness(logger),
    );
  }
}
