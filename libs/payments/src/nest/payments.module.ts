import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { PaymentOffers } from '../offers.js';
import { TopUpService } from '../top-ups/top-up.service.js';
import { TopUpsRepository } from '../top-ups/top-ups.repository.js';

/** Offers and top-ups of the api. */
@Module({
  providers: [
    {
      provide: PaymentOffers,
      inject: [ApiConfig],
      useFactory: ({ payments }: ApiConfig) => new PaymentOffers(payments),
    },
    {
      provide: TopUpsRepository,
      inject: [PrismaService],
      useFactory: (prisma: PrismaService) => new TopUpsRepository(prisma),
    },
    {
      provide: TopUpService,
      inject: [PaymentOffers, TopUpsRepository, Logger],
      useFactory: (offers: PaymentOffers, topUps: TopUpsRepository, logger: Logger) =>
        new TopUpService({ offers, topUps, logger }),
    },
  ],
  exports: [PaymentOffers, TopUpsRepository, TopUpService],
})
export class PaymentsModule {}
