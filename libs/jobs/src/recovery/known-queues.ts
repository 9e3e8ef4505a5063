import type { QueueOfModel } from './remove-closed.sweep.js';

/** The queues of all models, which the process provides. */
export abstract class KnownQueues {
  abstract list(): Promise<readonly QueueOfModel[]>;
}
