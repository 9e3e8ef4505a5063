import { Module } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { Egress } from '../egress.js';

/** Downloads from URLs that callers name. */
@Module({
  providers: [
    {
      provide: Egress,
      inject: [ApiConfig],
      useFactory: (config: ApiConfig) => new Egress({ allowedNetworks: config.egressNetworks }),
    },
  ],
  exports: [Egress],
})
export class EgressModule {}
