import type { Clock } from '#common';
import type { BullWorker } from '../jobs/bull-queue.js';
import type { JobEnvelope } from '../jobs/job-definition.js';
import type { BusMembership } from '../heartbeats/cluster-membership.js';
import type { Store } from '../backends/store.js';
import type { StickyJobEnd } from '../transport.js';
import type { ClaimBus } from './claim-bus.js';

export interface StickyJobsDependencies {
  readonly queue: string;
  readonly lockMs: number;
  /** The one that takes jobs now. */
  worker(): BullWorker<JobEnvelope> | null;
  readonly store: Store;
  readonly membership: BusMembership;
  readonly claims: ClaimBus;
  readonly clock: Clock;
  /** Whether one more job may run beside those that do, given how many are being claimed. */
  hasCapacity(underWay: number): boolean;
  readonly onEnd: (end: StickyJobEnd) => void;
}

/** Comes for the jobs of one queue that are kept for this process; gives back at once what it cannot run. */
export class StickyJobs {
  private underWay = 0;
  private refusing = false;
  private stopOffering: () => void = () => undefined;
  private stopHearing: () => void = () => undefined;

  constructor(private readonly parts: StickyJobsDependencies) {}

  /** Of no effect in a process that has not joined the presence bus: nobody could keep anything for it. */
  async start(): Promise<void> {
    const { membership, claims, queue } = this.parts;
    const { ownId } = membership;
    if (ownId === null) return;
    this.stopHearing = await claims.hear(ownId, queue, (requestId) => void this.come(requestId));
    this.stopOffering = membership.claimsFrom(queue);
  }

  /** From now on everything is given back, until `offer`. */
  refuse(): void {
    this.refusing = true;
    this.stopOffering();
  }

  /** Comes for jobs again. */
  offer(): void {
    const { membership, queue } = this.parts;
    if (!this.refusing || membership.ownId === null) return;
    this.refusing = false;
    this.stopOffering = membership.claimsFrom(queue);
  }

  close(): void {
    this.refuse();
    this.stopHearing();
  }

  private async come(requestId: string): Promise<void> {
    const { store, queue, lockMs, clock, hasCapacity, onEnd } = this.parts;
    const worker = this.parts.worker();
    if (worker === null) return;
    if (this.refusing || !worker.isTaking || !hasCapacity(this.underWay)) return await this.refund(worker, requestId);
    this.underWay += 1;
    try {
      const take = (token: string) => store.claim(queue, { jobId: requestId, token, lockMs, nowMs: clock.nowMs() });
      onEnd((await worker.claim(requestId, take)) ? 'claimed' : 'too-late');
    } finally {
      this.underWay -= 1;
    }
  }

  private async refund(worker: BullWorker<JobEnvelope>, requestId: string): Promise<void> {
    const { store, onEnd } = this.parts;
    // Should the store be away, the job's time ends all the same.
    const isFree = await store.release(worker, requestId).catch(() => false);
    onEnd(isFree ? 'given-back' : 'too-late');
  }
}
