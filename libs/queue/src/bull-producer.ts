import type { JobsOptions } from 'bullmq';
import { type BullQueue, openQueue } from './bull-queue.js';
import { type JobDefinition, type JobEnvelope, queueName } from './job-definition.js';
import { storeCall } from './store-call.js';
import type { Store } from './store.js';
import type { JobProducer, QueueCounts } from './transport.js';

/** Wait before a job runs again on the same queue, doubled each time, in ms. */
const retryDelayMs = 250;

/** States in which no worker has the job. */
const waitingStates = ['waiting', 'delayed', 'prioritized'];
const heldStates = [...waitingStates, 'active'];

type Warn = (message: string, error: unknown) => void;

/** Puts jobs into the queues of models, one BullMQ queue each, opened at first use. */
export class BullProducer implements JobProducer {
  private readonly queues = new Map<string, BullQueue<JobEnvelope>>();

  constructor(
    private readonly store: Store,
    private readonly warn: Warn,
  ) {}

  async enqueue(definition: JobDefinition<object, object>, envelope: JobEnvelope): Promise<void> {
    const queue = this.queue(envelope.modality, envelope.modelId);
    await storeCall(() => queue.add(envelope.modality, envelope, jobOptions(definition, envelope)));
  }

  async enqueueBulk(definition: JobDefinition<object, object>, envelopes: JobEnvelope[]): Promise<void> {
    const [first] = envelopes;
    if (first === undefined) return;
    const queue = this.queue(first.modality, first.modelId);
    const jobs = envelopes.map((envelope) => ({
      name: envelope.modality,
      data: envelope,
      opts: jobOptions(definition, envelope),
    }));
    await storeCall(() => queue.addBulk(jobs), bulkTimeoutMs(jobs.length));
  }

  async remove(modality: string, modelId: string, requestId: string): Promise<boolean> {
    const queue = this.queue(modality, modelId);
    return storeCall(async () => {
      // BullMQ also answers 1 for a job it has never seen.
      if (!waitingStates.includes(await queue.getJobState(requestId))) return false;
      return (await queue.remove(requestId)) === 1;
    });
  }

  async holds(modality: string, modelId: string, requestId: string): Promise<boolean> {
    const queue = this.queue(modality, modelId);
    return storeCall(async () => heldStates.includes(await queue.getJobState(requestId)));
  }

  async counts(modality: string, modelId: string): Promise<QueueCounts> {
    const queue = this.queue(modality, modelId);
    const counts = await storeCall(() => queue.getJobCounts('wait', 'active', 'delayed', 'prioritized'));
    const { wait = 0, active = 0, delayed = 0, prioritized = 0 } = counts;
    return { waiting: wait, active, delayed, prioritized };
  }

  async close(): Promise<void> {
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private queue(modality: string, modelId: string): BullQueue<JobEnvelope> {
    const name = queueName(modality, modelId);
    let queue = this.queues.get(name);
    if (queue === undefined) {
      queue = openQueue(this.store, name, this.warn);
      this.queues.set(name, queue);
    }
    return queue;
  }
}

/** Jobs leave the store when they end, failed ones too: prompts must not stay behind. */
function jobOptions({ policy }: JobDefinition<object, object>, envelope: JobEnvelope): JobsOptions {
  return {
    jobId: envelope.requestId,
    attempts: policy.attempts,
    backoff: { type: 'exponential', delay: retryDelayMs },
    removeOnComplete: true,
    removeOnFail: true,
    stackTraceLimit: 0,
  };
}

/** A thousand jobs take a moment more than one. */
function bulkTimeoutMs(count: number): number {
  return 1_500 + count;
}
