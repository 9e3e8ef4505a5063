import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { BullTransport } from '../../transport/bull-transport.js';
import { QueueTransport } from '../../contract/transport.js';
import { JobResultsConsumer } from './job-results.consumer.js';
import { StoreQueue, StoreWorker } from './store-backed.js';
import { jobResultQueueName } from '../../contract/job-definition.js';

// The classes are static and hold for the whole process, which is the only way that @nestjs/bullmq offers to choose them;
// each instance takes its store from its own connection option, so transports of several stores can be open side by side.
BullModule.queueClass = StoreQueue;
BullModule.workerClass = StoreWorker;

/** Consumes the queue of job results with the `JobResultHandler` that one of `imports` exports. */
@Module({})
export class JobResultsModule {
  static register({ imports }: Required<Pick<ModuleMetadata, 'imports'>>): DynamicModule {
    return {
      module: JobResultsModule,
      imports: [
        ...imports,
        BullModule.forRootAsync({ inject: [QueueTransport], useFactory: optionsOf }),
        BullModule.registerQueue({ name: jobResultQueueName }),
      ],
      providers: [JobResultsConsumer],
    };
  }
}

function optionsOf(transport: QueueTransport) {
  if (!(transport instanceof BullTransport))
    throw new TypeError('Job results are consumed over a BullMQ transport only.');
  // A cast, because the types of BullMQ know only its own connections; `StoreQueue` and `StoreWorker` read this one.
  return transport.bullOptions as never;
}
