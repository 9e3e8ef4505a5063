import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
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
    TopUpsRepository,
    TopUpService,
  ],
  exports: [PaymentOffers, TopUpsRepository, TopUpService],
})
export class PaymentsModule {}
