import type { JobsOptions } from 'bullmq';
import type { BullQueue, BullQueues } from './bull-queue.js';
import { type JobDefinition, type JobEnvelope, queueName } from './job-definition.js';
import type { JobProducer, QueueCounts } from './transport.js';

/** Wait before a job runs again on the same queue, doubled each time, in ms. */
const retryDelayMs = 250;

/** States in which no worker has the job. */
const waitingStates = ['waiting', 'delayed', 'prioritized'];
const heldStates = [...waitingStates, 'active'];

/** Puts jobs into the queues of models, one BullMQ queue each. */
export class BullProducer implements JobProducer {
  constructor(private readonly queues: BullQueues) {}

  requireRoom(): void {
    this.queues.requireRoom();
  }

  async enqueue(definition: JobDefinition<object, object>, envelope: JobEnvelope): Promise<void> {
    const { modality, modelId } = envelope;
    await this.call(modality, modelId, (queue) => queue.add(modality, envelope, jobOptions(definition, envelope)));
  }

  async enqueueBulk(definition: JobDefinition<object, object>, envelopes: JobEnvelope[]): Promise<void> {
    const [first] = envelopes;
    if (first === undefined) return;
    const jobs = envelopes.map((envelope) => ({
      name: envelope.modality,
      data: envelope,
      opts: jobOptions(definition, envelope),
    }));
    await this.call(first.modality, first.modelId, (queue) => queue.addBulk(jobs), bulkTimeoutMs(jobs.length));
  }

  async remove(modality: string, modelId: string, requestId: string): Promise<boolean> {
    return this.call(modality, modelId, async (queue) => {
      // BullMQ also answers 1 for a job it has never seen.
      if (!waitingStates.includes(await queue.getJobState(requestId))) return false;
      return (await queue.remove(requestId)) === 1;
    });
  }

  async withdraw(modality: string, modelId: string, requestId: string): Promise<void> {
    await this.call(modality, modelId, async (queue) => {
      const job = await queue.getJob(requestId);
      await job?.updateData({ ...job.data, cancelled: true });
    });
  }

  async holds(modality: string, modelId: string, requestId: string): Promise<boolean> {
    return this.call(modality, modelId, async (queue) => heldStates.includes(await queue.getJobState(requestId)));
  }

  async counts(modality: string, modelId: string): Promise<QueueCounts> {
    const counts = await this.call(modality, modelId, (queue) =>
      queue.getJobCounts('wait', 'active', 'delayed', 'prioritized'),
    );
    const { wait = 0, active = 0, delayed = 0, prioritized = 0 } = counts;
    return { waiting: wait, active, delayed, prioritized };
  }

  private call<T>(
    modality: string,
    modelId: string,
    operation: (queue: BullQueue<JobEnvelope>) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T> {
    return this.queues.call(queueName(modality, modelId), operation, timeoutMs);
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
