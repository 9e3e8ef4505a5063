import type { JobsOptions } from 'bullmq';
import type { StickyAssigner } from '../affinity/sticky-assigner.js';
import { PlaceAssigner } from '../fairness/place-assigner.js';
import type { BullQueue, BullQueues } from '../stores/bull-queue.js';
import { type JobDefinition, type JobEnvelope, queueName } from '../contract/job-definition.js';
import type { EnvelopeSeal } from '../contract/seals.js';
import type { BulkOptions, EnqueueOptions, JobProducer, QueueCounts } from '../contract/transport.js';
import type { FairPlace, FairTurn } from '../contract/fair-turn.js';

/** How long a job waits before it runs again on the same queue, in ms; doubled each time. */
const retryDelayMs = 250;

/** States in which no worker has the job. */
const waitingStates = ['waiting', 'delayed', 'prioritized'];
const heldStates = [...waitingStates, 'active'];

/** Jobs due within this time count as waiting, in ms. */
const soonMs = 1_000;

/** Adds jobs to the queues of models, one BullMQ queue each. */
export class BullProducer implements JobProducer {
  private readonly places: PlaceAssigner;

  /** No job is sticky without an assigner. */
  constructor(
    private readonly queues: BullQueues,
    private readonly envelopes: EnvelopeSeal,
    private readonly assigner: StickyAssigner | null = null,
  ) {
    this.places = new PlaceAssigner((queue, turns) => this.queues.assignPlaces(queue, turns));
  }

  requireRoom(): void {
    this.queues.requireRoom();
  }

  async enqueue(
    definition: JobDefinition<object, object>,
    envelope: JobEnvelope,
    { routeKey, turn, onlyWorkerId }: EnqueueOptions = {},
  ): Promise<void> {
    const place = await this.placeOf(envelope, turn);
    const options = jobOptions(definition, envelope, place);
    if (onlyWorkerId !== undefined) return await this.addOnlyFor(onlyWorkerId, { ...envelope, onlyWorkerId }, options);
    const workerId = (routeKey && this.assigner?.workerFor(envelope, routeKey)) ?? null;
    if (workerId !== null) return await this.addFor(workerId, { ...envelope, preferredWorkerId: workerId }, options);
    const key = routeKey ?? (() => envelope.requestId);
    const spareWorkerId = place?.goesFirst ? (this.assigner?.spareWorkerFor(envelope, key) ?? null) : null;
    if (spareWorkerId === null) return await this.add(envelope, options);
    // Without a priority it runs before all jobs that have one, because its claim must fetch exactly this job.
    await this.addFor(spareWorkerId, { ...envelope, mayUseSpareSlot: true }, { ...options, priority: undefined });
  }

  /**
   * Adds a job that one worker is to claim. Whatever happens to that worker, BullMQ lets any worker take the job when
   * its delay ends.
   */
  private async addFor(workerId: string, envelope: JobEnvelope, options: JobsOptions): Promise<void> {
    await this.add(envelope, { ...options, delay: this.assigner?.stickyMs });
    this.assigner?.assigned(envelope, workerId);
  }

  /** Adds a job that only one worker can run. A single worker needs no claim: it takes the job in its turn. */
  private async addOnlyFor(workerId: string, envelope: JobEnvelope, options: JobsOptions): Promise<void> {
    if (this.assigner?.hasChoice(envelope) !== true) return await this.add(envelope, options);
    await this.addFor(workerId, { ...envelope, preferredWorkerId: workerId }, options);
  }

  private async add(envelope: JobEnvelope, options: JobsOptions): Promise<void> {
    const { modality, modelId } = envelope;
    await this.call(modality, modelId, (queue) => queue.add(modality, this.envelopes.seal(envelope), options));
  }

  async enqueueBulk(
    definition: JobDefinition<object, object>,
    envelopes: JobEnvelope[],
    { turnOf }: BulkOptions = {},
  ): Promise<void> {
    const [first] = envelopes;
    if (first === undefined) return;
    const { modality, modelId } = first;
    const jobs = await Promise.all(
      envelopes.map(async (envelope) => ({
        name: envelope.modality,
        data: this.envelopes.seal(envelope),
        opts: jobOptions(definition, envelope, await this.placeOf(envelope, turnOf?.(envelope))),
      })),
    );
    await this.call(modality, modelId, (queue) => queue.addBulk(jobs), bulkTimeoutMs(jobs.length));
  }

  private async placeOf({ modality, modelId }: JobEnvelope, turn: FairTurn | undefined): Promise<FairPlace | null> {
    return turn === undefined ? null : await this.places.place(queueName(modality, modelId), turn);
  }

  /** Releases a job that is still delayed to any worker; does nothing for others. Never rejects. */
  async release(queueName: string, requestId: string): Promise<void> {
    // If this fails, BullMQ still ends the delay itself.
    await this.queues.release(queueName, requestId).catch(() => false);
  }

  async remove(modality: string, modelId: string, requestId: string): Promise<boolean> {
    return this.call(modality, modelId, async (queue) => {
      // BullMQ also returns 1 for a job it has never seen.
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
    return this.call(modality, modelId, async (queue) => {
      // Due jobs that no worker moves count as waiting, because autoscaling must see them.
      const soonAtMs = Date.now() + soonMs;
      const [[wait = 0, active = 0, prioritized = 0, soon = 0], [delayed = 0]] = await Promise.all([
        queue.backend.getCounts(['wait', 'active', 'prioritized', 'delayed'], soonAtMs),
        queue.backend.getCounts(['delayed']),
      ]);
      return { waiting: wait + prioritized + soon, active, delayed: Math.max(0, delayed - soon) };
    });
  }

  async listWaiting(
    modality: string,
    modelId: string,
    { first, count }: { first: number; count: number },
  ): Promise<string[]> {
    const ranges = await this.call(modality, modelId, (queue) =>
      queue.backend.getRanges(['wait', 'prioritized', 'delayed'], first, first + count - 1, true),
    );
    return [...new Set(ranges.flat())];
  }

  /** Counts the jobs that any worker could take now. Sticky jobs do not count while they are delayed. */
  async countReady(modality: string, modelId: string): Promise<number> {
    const counts = await this.call(modality, modelId, (queue) => queue.getJobCounts('wait', 'prioritized'));
    return (counts['wait'] ?? 0) + (counts['prioritized'] ?? 0);
  }

  async countAhead(modality: string, modelId: string, { account }: FairTurn): Promise<number> {
    return this.queues.countAhead(queueName(modality, modelId), account);
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

/**
 * Returns BullMQ's options. Jobs leave the store when they end, even failed ones, because prompts must not stay behind.
 */
function jobOptions(
  { policy }: JobDefinition<object, object>,
  { requestId }: JobEnvelope,
  place: FairPlace | null,
): JobsOptions {
  return {
    jobId: requestId,
    attempts: policy.attempts,
    backoff: { type: 'exponential', delay: retryDelayMs },
    removeOnComplete: true,
    removeOnFail: true,
    stackTraceLimit: 0,
    ...(place !== null && { priority: place.tag }),
  };
}

/** Returns the timeout for a number of jobs: a thousand take slightly longer than one. */
function bulkTimeoutMs(count: number): number {
  return 1_500 + count;
}
