import type { Processor, QueueOptions, WorkerOptions } from 'bullmq';
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

export class StoreQueue extends Queue {
  constructor(name: string, options: QueueOptions) {
    super(name, options, storeOf(options).backendFactory as never);
    // The next operation reports what is wrong; without a listener an error event would end the process.
    this.on('error', () => undefined);
  }
}

export class StoreWorker<Data> extends BullWorker<Data> {
  constructor(name: string, processor: Processor<Data>, options: WorkerOptions) {
    const own = { runRetryDelay: 1_000, ...options } as unknown as WorkerOptions<StoreConnection>;
    super(name, processor, own, storeOf(options));
  }
}
