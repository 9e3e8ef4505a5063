import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import type { Processor, QueueOptions, WorkerOptions } from 'bullmq';
import { BullTransport } from '../../transport/bull-transport.js';
import { QueueTransport } from '../../contract/transport.js';
import { JobResultsConsumer } from './job-results.consumer.js';
import { jobResultQueueName } from '../../contract/job-definition.js';
import { Queue } from '../../connections/bull-library.js';
import type { Store, StoreConnection } from '../../contract/store.js';
import { BullWorker } from '../../stores/bull-queue.js';

/*
 * @nestjs/bullmq constructs queues and workers as `new Queue(name, options)`. A default backend factory would hold for the
 * whole process and so for one transport only; these subclasses take the store from the connection option instead. The
 * module reads that option of the queue for its workers, so both pass it on.
 */
function storeOf({ connection }: Pick<QueueOptions, 'connection'>): Store {
  return (connection as unknown as { store: Store }).store;
}

class StoreQueue extends Queue {
  constructor(name: string, options: QueueOptions) {
    super(name, options, storeOf(options).backendFactory as never);
    // The next operation reports what is wrong; without a listener an error event would end the process.
    this.on('error', () => undefined);
  }
}

class StoreWorker<Data> extends BullWorker<Data> {
  constructor(name: string, processor: Processor<Data>, options: WorkerOptions) {
    const workerOptions = { runRetryDelay: 1_000, ...options } as unknown as WorkerOptions<StoreConnection>;
    super(name, processor, workerOptions, storeOf(options));
  }
}

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
