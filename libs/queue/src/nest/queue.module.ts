import { type DynamicModule, type FactoryProvider, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '#platform/logging';
import { createTransport } from '../transport/create-transport.js';
import { QueueTransport, type TransportOptions } from '../contract/transport.js';

const transportOptions = Symbol('TransportOptions');

/**
 * Provides the transport of this process everywhere. All queues of a process share its connections: the queues per model,
 * and the fixed ones of `JobResultsModule`. The queues per model are opened by `QueueTransport` and not registered with
 * `@nestjs/bullmq`, because that package declares queues when a module is compiled, and models come and go at run time.
 */
@Module({})
export class QueueModule implements OnApplicationShutdown {
  constructor(private readonly transport: QueueTransport) {}

  /** Rejects at the start when the store does not answer within 10 s or is too old. */
  static forRootAsync({
    inject,
    useFactory,
  }: Pick<FactoryProvider<TransportOptions>, 'inject' | 'useFactory'>): DynamicModule {
    return {
      module: QueueModule,
      global: true,
      providers: [
        { provide: transportOptions, inject, useFactory },
        {
          provide: QueueTransport,
          inject: [transportOptions, Logger],
          useFactory: (options: TransportOptions, logger: Logger) =>
            createTransport({ warn: (message, error) => logger.warn({ error }, message), ...options }),
        },
      ],
      exports: [QueueTransport],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.transport.close();
  }
}
