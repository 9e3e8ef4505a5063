import { type JobEnvelope, queueName } from '../jobs/job-definition.js';
import type { Heartbeat } from '../heartbeats/heartbeat.js';
import type { AffinityOptions } from '../transport.js';
import type { AffinityRouter } from './affinity-router.js';
import type { ClaimBus } from './claim-bus.js';

/** A kept job counts as waiting, which ends here, in ms. */
const longestKeepMs = 1_000;

/** What the end of a job's time is given beyond it before this process looks after it, in ms. */
const recallSlackMs = 250;

export interface StickyAssignerDependencies extends AffinityOptions {
  readonly router: AffinityRouter;
  readonly claims: ClaimBus;
  /** Lets whoever is free have a job that is still kept; of no effect on others. Never rejects. */
  recall(queue: string, requestId: string): Promise<void>;
}

/** Keeps jobs for workers, as their producer. */
export class StickyAssigner {
  private readonly recalls = new Map<string, NodeJS.Timeout>();

  constructor(private readonly parts: StickyAssignerDependencies) {}

  /** To be called for each heartbeat when it comes. */
  note(heartbeat: Heartbeat): void {
    this.parts.router.note(heartbeat);
  }

  get stickyMs(): number {
    return Math.min(this.parts.stickyMs, longestKeepMs);
  }

  /** The worker to keep a job for, or null. */
  workerFor(envelope: JobEnvelope, routeKey: () => string): string | null {
    const { modality, modelId, replyTo } = envelope;
    // Without a mailbox nobody here would hear of its end.
    if (replyTo === null) return null;
    const choice = this.parts.router.choose(envelope, routeKey);
    this.parts.onDecision?.({ modality, modelId, decision: 'refusal' in choice ? choice.refusal : 'kept' });
    return 'workerId' in choice ? choice.workerId : null;
  }

  /** The job is in the queue: has its worker come for it. */
  kept(envelope: JobEnvelope, workerId: string): void {
    const { router, claims, recall } = this.parts;
    const { requestId } = envelope;
    const queue = queueName(envelope.modality, envelope.modelId);
    router.began(envelope, workerId);
    void claims.call(workerId, { queue, requestId });
    // The queue ends its time by the clock of workers, and this process began it by its own: they may differ by minutes.
    const timer = setTimeout(() => {
      this.recalls.delete(requestId);
      void recall(queue, requestId);
    }, this.stickyMs + recallSlackMs);
    this.recalls.set(requestId, timer.unref());
  }

  /** A worker has begun. */
  began(requestId: string): void {
    const timer = this.recalls.get(requestId);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.recalls.delete(requestId);
  }

  ended(requestId: string): void {
    this.began(requestId);
    this.parts.router.ended(requestId);
  }
}
