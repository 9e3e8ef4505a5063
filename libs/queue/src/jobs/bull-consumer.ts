import { type Clock, PlatformError } from '#common';
import type { ClaimBus } from '../affinity/claim-bus.js';
import { StickyJobs } from '../affinity/sticky-jobs.js';
import { DelayedError, UnrecoverableError, WaitingError } from '../connections/bull-library.js';
import { type BullJob, BullWorker, openWorker } from '../stores/bull-queue.js';
import type { BusCancels } from '../replies/cancel-bus.js';
import { refusalOf, type WorkerLastKnownState } from './delivery-checks.js';
import { type JobEnvelope, queueName } from '../contract/job-definition.js';
import { cancelledByCaller, type DeliveredJob, type DeliveryEnd, JobDelivery } from './job-delivery.js';
import type { ReplyPublisher } from '../replies/reply-publisher.js';
import type { EnvelopeSeal } from '../contract/seals.js';
import { validatePayload } from './payload-validator.js';
import type { BusMembership } from '../heartbeats/cluster-membership.js';
import { QueueWatchdog } from './queue-watchdog.js';
import { settlesWithin } from '../contract/store-call.js';
import type { Store } from '../contract/store.js';
import type { ConsumerOptions, JobConsumer, ReplyWriter, JobResultQueue, ProgressBus } from '../contract/transport.js';

/** How long aborted jobs may take to report their result when the worker stops, in ms. */
const finalReportMs = 5_000;

/** How long a job of another worker is put off, in ms. That worker had no room, or did not receive the message. */
const putOffMs = 250;

/** What a consumer needs from its transport. */
export interface ConsumerDependencies {
  readonly store: Store;
  readonly publisher: ReplyPublisher;
  readonly results: JobResultQueue;
  readonly cancels: BusCancels;
  readonly membership: BusMembership;
  readonly progress: ProgressBus;
  readonly claims: ClaimBus;
  readonly envelopes: EnvelopeSeal;
  readonly clock: Clock;
  readonly warn: (message: string, error?: unknown) => void;
  /** Counts the jobs of a queue that any worker could take now. */
  readonly countWaiting: (modality: string, modelId: string) => Promise<number>;
  readonly onClosed: () => void;
}

type OpenWorker = ReturnType<typeof openWorker<JobEnvelope>>;

const silentReplies: ReplyWriter = { send: () => undefined };

/** Takes jobs of one model from its queue and runs them; every job it takes ends with one result. */
export class BullConsumer<Payload extends object, Result extends object> implements JobConsumer {
  readonly modelId: string;
  private readonly lastKnownState: WorkerLastKnownState;
  private readonly running = new Map<string, { envelope: JobEnvelope; delivery: JobDelivery<Payload> }>();
  private readonly stops: (() => void)[] = [];
  /** The worker that takes jobs is last; earlier ones still run what they took. */
  private workers: OpenWorker[] = [];
  private readonly watchdog: QueueWatchdog | null;
  private pickups = 0;
  private restartCount = 0;
  private stickyJobs: StickyJobs | null = null;
  private closing: Promise<void> | null = null;
  private isPaused = false;

  constructor(
    private readonly dependencies: ConsumerDependencies,
    private readonly options: ConsumerOptions<Payload, Result>,
  ) {
    this.modelId = options.modelId;
    this.watchdog = options.pickupTimeoutMs === undefined ? null : this.newWatchdog(options.pickupTimeoutMs);
    const { cancels, membership } = dependencies;
    this.lastKnownState = {
      wasCancelled: (requestId) => cancels.wasCancelled(requestId),
      isGone: (address) => membership.isGone(address),
      isHere: (address) => membership.isHere(address),
    };
  }

  get restarts(): number {
    return this.restartCount;
  }

  get isStalled(): boolean {
    return this.watchdog?.isStalled ?? false;
  }

  async start(): Promise<void> {
    const { cancels, membership } = this.dependencies;
    this.stops.push(cancels.subscribe((requestId) => this.running.get(requestId)?.delivery.abort(cancelledByCaller())));
    this.stops.push(membership.onChange(() => this.abortAbandoned()));
    const worker = this.openWorker();
    await worker.waitUntilReady();
    this.stickyJobs = this.newStickyJobs();
    await this.stickyJobs.start();
    this.watchdog?.start();
  }

  pause(): void {
    if (this.isPaused || this.closing !== null) return;
    this.isPaused = true;
    this.stickyJobs?.pause();
    this.retire(this.workers);
  }

  resume(): void {
    if (!this.isPaused || this.closing !== null) return;
    this.isPaused = false;
    this.openWorker();
    this.stickyJobs?.resume();
  }

  close(graceMs: number): Promise<void> {
    this.closing ??= this.stop(graceMs);
    return this.closing;
  }

  private async stop(graceMs: number): Promise<void> {
    this.watchdog?.stop();
    this.stickyJobs?.pause();
    const stopped = Promise.all(this.workers.map((worker) => worker.close()));
    if (!(await settlesWithin(stopped, graceMs))) {
      for (const { delivery } of this.running.values()) delivery.stop();
      await settlesWithin(stopped, finalReportMs);
    }
    this.stickyJobs?.close();
    for (const stop of this.stops) stop();
    this.dependencies.onClosed();
  }

  private get queue(): string {
    return queueName(this.options.definition.modality, this.modelId);
  }

  private get concurrency(): number {
    return this.options.concurrency ?? this.options.definition.policy.concurrency;
  }

  private openWorker(): OpenWorker {
    const { lockMs, stalledMax } = this.options.definition.policy;
    const worker = openWorker<JobEnvelope>(
      this.dependencies.store,
      this.queue,
      (job, token) => this.process(job, token),
      {
        concurrency: this.concurrency,
        lockDuration: lockMs,
        maxStalledCount: stalledMax,
        stalledInterval: Math.round(Math.min(Math.max(lockMs / 3, 500), 5_000)),
      },
      this.dependencies.warn,
    );
    this.workers.push(worker);
    return worker;
  }

  private newStickyJobs(): StickyJobs {
    const { store, membership, claims } = this.dependencies;
    return new StickyJobs({
      queue: this.queue,
      worker: () => this.workers.at(-1) ?? null,
      store,
      membership,
      claims,
      hasCapacity: (underWay, isSpare) =>
        this.running.size + underWay < this.concurrency + (isSpare ? (this.options.spareSlots ?? 0) : 0),
      onEnd: (end) => this.options.onSticky?.(end),
    });
  }

  private newWatchdog(maxWaitMs: number): QueueWatchdog {
    const { countWaiting, clock, warn } = this.dependencies;
    return new QueueWatchdog(maxWaitMs, {
      queue: this.queue,
      countWaiting: () => countWaiting(this.options.definition.modality, this.modelId),
      consumer: () => ({
        hasCapacity: !this.isPaused && this.running.size < this.concurrency,
        pickups: this.pickups,
      }),
      restart: () => this.restart(),
      clock,
      warn,
    });
  }

  private restart(): void {
    this.restartCount += 1;
    const before = [...this.workers];
    this.dependencies.store.renewWork();
    this.openWorker();
    this.retire(before);
  }

  /** Closes workers. Running jobs continue, and their locks are renewed until they end. */
  private retire(workers: readonly OpenWorker[]): void {
    for (const worker of [...workers]) {
      void worker.close().finally(() => (this.workers = this.workers.filter((other) => other !== worker)));
    }
  }

  /** BullMQ's processor: an exception fails the job, and `UnrecoverableError` fails it for good. */
  private async process(job: BullJob<JobEnvelope>, token: string): Promise<void> {
    const { results, clock } = this.dependencies;
    const requestId = job.id ?? job.data.requestId;
    this.pickups += 1;
    if (this.isForAnother(job.data)) return await this.putOff(job, token);
    if (job.attemptsStarted <= 1 && job.attemptsMade === 0 && job.stalledCounter === 0) {
      this.options.onPickup?.(Math.max(0, clock.nowMs() - job.timestamp));
      const { preferredWorkerId, mayUseSpareSlot } = job.data;
      if (mayUseSpareSlot === true) this.options.onSticky?.('spare');
      if (preferredWorkerId !== undefined)
        this.options.onSticky?.(preferredWorkerId === this.dependencies.membership.ownId ? 'claimed' : 'taken-over');
    }
    const delivered = this.deliveredJob(job, token);
    const delivery = new JobDelivery(delivered, results, clock);
    this.running.set(requestId, { envelope: job.data, delivery });
    // Another cancel may have arrived since the check of the recent ones.
    if (this.dependencies.cancels.wasCancelled(requestId)) delivery.abort(cancelledByCaller());
    try {
      const end = await delivery.run(this.options.handler);
      if (end.kind === 'handed-back') await this.handBack(job, token);
      throwForBullMQ(end);
    } finally {
      if (this.running.get(requestId)?.delivery === delivery) this.running.delete(requestId);
    }
  }

  /**
   * Returns true for a job that only another, living worker can run. A job that has ended in the meantime needs no
   * particular worker.
   */
  private isForAnother({ requestId, onlyWorkerId, cancelled, deadlineAtMs, replyTo }: JobEnvelope): boolean {
    const { membership, cancels, clock } = this.dependencies;
    if (onlyWorkerId === undefined || onlyWorkerId === membership.ownId || !membership.isAlive(onlyWorkerId))
      return false;
    if (cancelled === true || cancels.wasCancelled(requestId) || clock.nowMs() >= deadlineAtMs) return false;
    return replyTo === null || !membership.isGone(replyTo);
  }

  private async putOff(job: BullJob<JobEnvelope>, token: string): Promise<never> {
    await job.moveToDelayed(Date.now() + putOffMs, token);
    throw new DelayedError();
  }

  /**
   * Hands a job back, so that the next worker takes it first. If the store does not respond, the job returns when its
   * lock expires.
   */
  private async handBack({ id: jobId = '' }: BullJob<JobEnvelope>, token: string): Promise<void> {
    const { store, warn } = this.dependencies;
    const [worker] = this.workers;
    if (worker === undefined) return;
    await store.handBack(worker, { jobId, token }).catch((error: unknown) => {
      warn(`A job of ${this.queue} could not be handed back.`, error);
    });
  }

  private deliveredJob(job: BullJob<JobEnvelope>, token: string): DeliveredJob<Payload> {
    const { data } = job;
    const { lockMs } = this.options.definition.policy;
    const { requestId, modelId, attempt } = data;
    const opened = this.open(data);
    // Without its ticket, the result of a job that cannot be opened does not count.
    const { ticket } = opened instanceof PlatformError ? {} : opened;
    const checked = this.check(job, opened);
    return {
      envelope: checked instanceof PlatformError ? { ...data, ticket, payload: {} as Payload } : checked,
      refusal: checked instanceof PlatformError ? checked : null,
      failedBefore: job.attemptsMade,
      attempts: job.opts.attempts ?? 1,
      servedBy: this.dependencies.membership.ownBackend ?? undefined,
      replies: data.replyTo ? this.dependencies.publisher.writer(data.replyTo, data) : silentReplies,
      progress: (percent) => {
        if (!data.replyTo) this.dependencies.progress.report({ requestId, modelId, attempt, percent });
      },
      isLost: (runningMs) => this.isLost(job, token, runningMs > lockMs / 2),
    };
  }

  private open(data: JobEnvelope): JobEnvelope | PlatformError {
    try {
      return this.dependencies.envelopes.open(data);
    } catch (error) {
      return PlatformError.from(error, 'INVALID_REQUEST');
    }
  }

  /** Returns the envelope with a valid payload, or why the job is not run. */
  private check(job: BullJob<JobEnvelope>, opened: JobEnvelope | PlatformError): JobEnvelope<Payload> | PlatformError {
    const taken = { isGivenUp: BullWorker.wasGivenUp(job), stalledBefore: job.stalledCounter };
    try {
      const refusal = refusalOf(job.data, taken, {
        lastKnownState: this.lastKnownState,
        clock: this.dependencies.clock,
      });
      if (refusal !== null || opened instanceof PlatformError) return refusal ?? (opened as PlatformError);
      return { ...opened, payload: validatePayload(this.options.definition.payload, opened.payload) };
    } catch (error) {
      return PlatformError.from(error, 'INVALID_REQUEST');
    }
  }

  /**
   * Returns true when the job belongs to another worker, because this one was blocked past its lock: it must then stay
   * silent.
   */
  private async isLost(job: BullJob<JobEnvelope>, token: string, couldBeLost: boolean): Promise<boolean> {
    if (!couldBeLost) return false;
    try {
      return !(await job.extendLock(token, this.options.definition.policy.lockMs));
    } catch (error) {
      // BullMQ reports that the lock belongs to another worker or is gone. Any other error leaves the decision to the
      // fence of the row.
      return error instanceof Error && /lock/i.test(error.message);
    }
  }

  private abortAbandoned(): void {
    for (const { envelope, delivery } of this.running.values()) {
      if (envelope.replyTo !== null && this.dependencies.membership.isGone(envelope.replyTo))
        delivery.abort(cancelledByCaller());
    }
  }
}

function throwForBullMQ(end: DeliveryEnd): void {
  // Tells BullMQ that the job has left this worker.
  if (end.kind === 'handed-back') throw new WaitingError(end.kind);
  if (end.kind === 'retry') throw new Error(end.error.code);
  if (end.kind === 'failed') throw new UnrecoverableError(end.error.code);
}
