import { type ErrorCode, PlatformError } from '#common';
import {
  cancelledByCaller,
  deadlinePassed,
  type DeliveredJob,
  JobDelivery,
  type JobEnvelope,
  type JobReport,
  refusalOf,
  type RunningJob,
} from '#queue';
import { simChatJob, type SimPayload } from './sim-job.js';
import { lostAfterMs, type SimPlatform } from './sim-platform.js';
import { usageOf } from './sim-request.js';
import type { QueuedJob } from './sim-store.js';
import { SimProcess } from './world.js';

/** Engine failures, and what the queue does after each. */
const failures: readonly ErrorCode[] = ['INFERENCE_FAILED', 'DEVICE_LOST', 'MODEL_AT_CAPACITY'];

interface Running {
  envelope: JobEnvelope;
  delivery: JobDelivery<SimPayload>;
}

/** A worker with production job delivery and rejection; its engine counts tokens. */
export class SimWorker {
  readonly process: SimProcess;
  private readonly running = new Map<string, Running>();
  private readonly cancelled = new Set<string>();
  private readonly startedAtMs: number;
  private readonly takes = new Set<Promise<void>>();
  /** It was told to stop: it takes no more jobs, and hands back those that may be repeated. */
  isStopping = false;

  constructor(
    private readonly platform: SimPlatform,
    name: string,
  ) {
    this.startedAtMs = platform.world.nowMs();
    this.process = new SimProcess(name, 'worker', this.startedAtMs);
  }

  get isBusy(): boolean {
    return this.isStopping || this.running.size >= simChatJob.policy.concurrency;
  }

  /** Ends once its jobs have left it; never rejects. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const { delivery } of this.running.values()) delivery.stop();
    await Promise.all(this.takes);
    if (!this.process.isDead) void this.platform.world.kill(this.process);
  }

  onCancel(requestId: string): void {
    if (this.process.isDead) return;
    this.cancelled.add(requestId);
    this.running.get(requestId)?.delivery.abort(cancelledByCaller());
  }

  /** Checks deadlines, and clients that have gone. */
  checkExpiry(): void {
    if (!this.process.runs) return;
    for (const { envelope, delivery } of this.running.values()) {
      if (this.platform.world.nowMs() >= envelope.deadlineAtMs) delivery.abort(deadlinePassed());
      if (envelope.replyTo !== null && this.isGone(envelope.replyTo)) delivery.abort(cancelledByCaller());
    }
  }

  /** Takes one job and runs it; never rejects. */
  async take(job: QueuedJob, failure: number): Promise<void> {
    const taking = this.runOne(job, failure);
    this.takes.add(taking);
    await taking;
    this.takes.delete(taking);
  }

  private async runOne(job: QueuedJob, failure: number): Promise<void> {
    const { world, store } = this.platform;
    const token = store.claim(job, this.process, world.nowMs());
    const { requestId } = job.envelope;
    world.note(`${this.process.name}: takes ${requestId}/${job.envelope.attempt}`);
    const delivery = new JobDelivery<SimPayload>(
      this.delivered(job, token),
      this.platform.transportFor(this.process).results,
      world,
    );
    this.running.set(requestId, { envelope: job.envelope, delivery });
    if (this.cancelled.has(requestId)) delivery.abort(cancelledByCaller());
    const end = await delivery
      .run((running) => this.generate(running, failure))
      .catch((error: unknown) => {
        if (!this.process.isDead) world.problem(`a delivery ended with ${String(error)}`);
        return { kind: 'lost' } as const;
      });
    if (this.running.get(requestId)?.delivery === delivery) this.running.delete(requestId);
    if (end.kind === 'lost' || this.process.isDead) return;
    const how = end.kind === 'retry' || end.kind === 'handed-back' ? end.kind : 'done';
    const label = `${how} ${requestId}`;
    const finish = () =>
      how === 'handed-back' ? store.handBack(requestId, token) : store.finish(requestId, token, how);
    await world.step(this.process, { label, start: finish, mayBeLost: false }).catch(() => undefined);
  }

  private delivered(job: QueuedJob, token: number): DeliveredJob<SimPayload> {
    const { world, store } = this.platform;
    const envelope = job.envelope as JobEnvelope<SimPayload>;
    const { requestId, replyTo } = envelope;
    const lastKnownState = {
      wasCancelled: (id: string) => this.cancelled.has(id),
      isGone: (address: string) => this.isGone(address),
      isHere: (address: string) => this.isHere(address),
    };
    return {
      envelope,
      refusal: refusalOf(envelope, job, { lastKnownState, clock: world }),
      failedBefore: job.failedBefore,
      attempts: job.definition.policy.attempts,
      replies: replyTo === null ? { send: () => undefined } : this.platform.writerTo(this.process, replyTo, requestId),
      progress: () => undefined,
      // Like `BullConsumer`: checks ownership only if the lock may have been lost.
      isLost: async (runningMs) =>
        this.process.isDead || (runningMs > job.definition.policy.lockMs / 2 && !store.owns(requestId, token)),
    };
  }

  /** One step per token, and one at the end; any event may occur between two of them. */
  private async generate({ envelope, signal }: RunningJob<SimPayload>, failure: number): Promise<JobReport> {
    const { world } = this.platform;
    const { tokens } = envelope.payload;
    for (let made = 0; ; made += 1) {
      const label = made === tokens ? `last token of ${envelope.requestId}` : `token of ${envelope.requestId}`;
      await world.step(this.process, { label, start: () => undefined, mayBeLost: false });
      if (signal.aborted) return { usage: usageOf(made), cancelled: true, executionMs: 1 };
      const code = failures[failure - 1];
      if (code !== undefined) throw new PlatformError(code, 'The simulated engine failed.');
      if (made === tokens) return { usage: usageOf(made), cancelled: false, executionMs: 1 };
    }
  }

  private isGone(address: string): boolean {
    const api = this.knownApiHeartbeat(address);
    return api !== undefined && this.platform.world.nowMs() - api.lastHeartbeatAtMs > lostAfterMs;
  }

  private isHere(address: string): boolean {
    const api = this.knownApiHeartbeat(address);
    return api !== undefined && this.platform.world.nowMs() - api.lastHeartbeatAtMs <= lostAfterMs;
  }

  /** An API replica whose heartbeat arrived since this worker started. */
  private knownApiHeartbeat(address: string): SimProcess | undefined {
    return this.platform.apis
      .map(({ process }) => process)
      .find(({ name, lastHeartbeatAtMs }) => name === address && lastHeartbeatAtMs >= this.startedAtMs);
  }
}
