import type { BullWorker } from '../stores/bull-queue.js';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { BusMembership } from '../heartbeats/cluster-membership.js';
import type { Store } from '../contract/store.js';
import type { StickyJobEnd } from '../contract/transport.js';
import type { ClaimBus } from './claim-bus.js';

export interface StickyJobsDependencies {
  readonly queue: string;
  /** Returns the worker that takes jobs now. */
  worker(): BullWorker<JobEnvelope> | null;
  readonly store: Store;
  readonly membership: BusMembership;
  readonly claims: ClaimBus;
  /** Returns true when one more job may run, or run in a spare slot, given how many claims are in progress. */
  hasCapacity(underWay: number, isSpare: boolean): boolean;
  readonly onEnd: (end: StickyJobEnd) => void;
}

/** Claims the sticky jobs of one queue for this process. A job that cannot run here is released to the other workers at once. */
export class StickyJobs {
  private underWay = 0;
  private isPaused = false;
  private stopOffering: () => void = () => undefined;
  private unsubscribe: () => void = () => undefined;

  constructor(private readonly dependencies: StickyJobsDependencies) {}

  /** Does nothing in a process that sends no heartbeats: no producer could choose it. */
  async start(): Promise<void> {
    const { membership, claims, queue } = this.dependencies;
    const { ownId } = membership;
    if (ownId === null) return;
    this.unsubscribe = await claims.subscribe(
      ownId,
      queue,
      (requestId, isSpare) => void this.receive(requestId, isSpare),
    );
    this.stopOffering = membership.offerClaims(queue);
  }

  /** Releases every job from now on, until `resume`. */
  pause(): void {
    this.isPaused = true;
    this.stopOffering();
  }

  resume(): void {
    const { membership, queue } = this.dependencies;
    if (!this.isPaused || membership.ownId === null) return;
    this.isPaused = false;
    this.stopOffering = membership.offerClaims(queue);
  }

  close(): void {
    this.pause();
    this.unsubscribe();
  }

  /** Never rejects: while the store is away, the job's delay ends all the same. */
  private async receive(requestId: string, isSpare: boolean): Promise<void> {
    const { hasCapacity, onEnd } = this.dependencies;
    const worker = this.dependencies.worker();
    if (worker === null) return;
    if (this.isPaused || !worker.isTaking || !hasCapacity(this.underWay, isSpare)) {
      onEnd((await this.release(worker, requestId)) ? 'returned' : 'too-late');
    } else if (!(await this.claim(worker, requestId))) {
      onEnd('too-late');
    }
  }

  private async claim(worker: BullWorker<JobEnvelope>, requestId: string): Promise<boolean> {
    this.underWay += 1;
    try {
      return await worker.claim(requestId);
    } catch {
      return false;
    } finally {
      this.underWay -= 1;
    }
  }

  private async release(worker: BullWorker<JobEnvelope>, requestId: string): Promise<boolean> {
    return await this.dependencies.store.release(worker, requestId).catch(() => false);
  }
}
