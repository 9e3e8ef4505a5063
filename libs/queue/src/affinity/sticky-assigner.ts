import { type JobEnvelope, queueName } from '../contract/job-definition.js';
import type { Heartbeat } from '../contract/heartbeat.js';
import type { AffinityOptions } from '../contract/transport.js';
import type { AffinityRouter } from './affinity-router.js';
import type { ClaimBus } from './claim-bus.js';

/** Longest delay of a sticky job, in ms: it counts as waiting for this long only. */
const maxStickyMs = 1_000;

/** How long after the end of a job's delay this process releases the job itself, in ms. */
const releaseSlackMs = 250;

export interface StickyAssignerDependencies extends AffinityOptions {
  readonly router: AffinityRouter;
  readonly claims: ClaimBus;
  /** Releases a job that is still delayed to any worker; does nothing for others. Never rejects. */
  release(queue: string, requestId: string): Promise<void>;
}

/** Assigns jobs to workers, on behalf of the producer. */
export class StickyAssigner {
  private readonly releases = new Map<string, NodeJS.Timeout>();

  constructor(private readonly dependencies: StickyAssignerDependencies) {}

  /** Call it for each heartbeat received. */
  note(heartbeat: Heartbeat): void {
    this.dependencies.router.note(heartbeat);
  }

  get stickyMs(): number {
    return Math.min(this.dependencies.stickyMs, maxStickyMs);
  }

  /** Returns the worker to prefer for a job, or null. */
  workerFor(envelope: JobEnvelope, routeKey: () => string): string | null {
    const { modality, modelId, replyTo } = envelope;
    // Without a reply stream, this process would not learn how the job ends.
    if (replyTo === null) return null;
    const choice = this.dependencies.router.choose(envelope, routeKey);
    this.dependencies.onDecision?.({ modality, modelId, decision: 'refusal' in choice ? choice.refusal : 'sticky' });
    return 'workerId' in choice ? choice.workerId : null;
  }

  /** Returns true when several workers could take a job. */
  hasChoice(envelope: JobEnvelope): boolean {
    return this.dependencies.router.hasChoice(envelope);
  }

  /** Returns the worker whose spare slot a job that goes first is to use, or null. */
  spareWorkerFor(envelope: JobEnvelope, routeKey: () => string): string | null {
    const { modality, modelId, replyTo } = envelope;
    if (replyTo === null) return null;
    const workerId = this.dependencies.router.chooseSpare(envelope, routeKey);
    if (workerId !== null) this.dependencies.onDecision?.({ modality, modelId, decision: 'spare' });
    return workerId;
  }

  /** Tells the worker to claim the job, which is already in the queue. */
  assigned(envelope: JobEnvelope, workerId: string): void {
    const { router, claims, release } = this.dependencies;
    const { requestId, mayUseSpareSlot: isSpare } = envelope;
    const queue = queueName(envelope.modality, envelope.modelId);
    router.began(envelope, workerId);
    void claims.send(workerId, { queue, requestId, isSpare });
    // BullMQ ends the delay by the clocks of workers, which may be minutes off the clock that began it.
    const timer = setTimeout(() => {
      this.releases.delete(requestId);
      void release(queue, requestId);
    }, this.stickyMs + releaseSlackMs);
    this.releases.set(requestId, timer.unref());
  }

  /** Call when a worker has started the job. */
  began(requestId: string): void {
    const timer = this.releases.get(requestId);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.releases.delete(requestId);
  }

  ended(requestId: string): void {
    this.began(requestId);
    this.dependencies.router.ended(requestId);
  }
}
