import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { RpcProxy } from '../rpc-proxy.js';

/** Calls of blockchain nodes. Without a node of the operator it loads and asks nothing. */
@Module({
  providers: [
    {
      provide: RpcProxy,
      inject: [ApiConfig, Logger, Metrics],
      useFactory: ({ rpc: settings }: ApiConfig, logger: Logger, metrics: Metrics) =>
        new RpcProxy({ settings, logger, metrics }),
    },
  ],
  exports: [RpcProxy],
})
export class ChainsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly proxy: RpcProxy) {}

  /** The start does not wait: nodes may be slow, and requests check what they use. */
  onApplicationBootstrap(): void {
    void this.proxy.checkAll();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.proxy.close();
  }
}
