import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { LimitStore } from '../store/limit-store.js';
import { openLimitStore } from '../store/open-limit-store.js';
import { TokenCorrector } from '../token-reservation.js';

/** The windows of rate limits, and the correction of reserved tokens. Fails to start when their Redis does not answer. */
@Module({
  providers: [
    {
      provide: LimitStore,
      inject: [DatabaseConfig, PrismaService, Logger],
      useFactory: ({ limitsRedisUrl: redisUrl, namespace }: DatabaseConfig, prisma: PrismaService, logger: Logger) =>
        openLimitStore({
          redisUrl,
          prisma,
          namespace,
          warn: (message, error) => logger.warn({ error }, message),
        }),
    },
    TokenCorrector,
  ],
  exports: [LimitStore, TokenCorrector],
})
export class LimitStoreModule implements OnApplicationShutdown {
  constructor(private readonly store: LimitStore) {}

  async onApplicationShutdown(): Promise<void> {
    await this.store.close();
  }
}
