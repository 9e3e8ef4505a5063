import { PlatformError } from '#common';

export interface SlotLimits {
  /** Pieces of work at once. */
  slots: number;
  /** Pieces of work at once of one owner. */
  slotsPerOwner: number;
  /** Pieces of work that wait, of all owners and of one. */
  maxWaiting: number;
  maxWaitingPerOwner: number;
  /** Maximum wait, in ms. */
  maxWaitMs: number;
  /** What the work does, for messages: `files are being read`. */
  work: string;
}

interface Waiter {
  start(): void;
}

/**
 * Shares a few slots between owners, which are accounts. A free slot goes to the owner with the fewest slots; owners with
 * equally many take turns. So one owner has several slots only while no other waits for one.
 */
export class AccountSlots {
  private readonly running = new Map<string, number>();
  /** Owners in the order of their turns. */
  private readonly waiting = new Map<string, Waiter[]>();

  constructor(private readonly limits: SlotLimits) {}

  /**
   * Runs work in a slot. Rejects with `RATE_LIMIT_EXCEEDED` if too much work of the owner waits, with
   * `MODEL_AT_CAPACITY` if too much of all owners does or the wait is too long, and with the signal's reason.
   */
  async run<Result>(owner: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (this.mayStart(owner) && !this.waiting.has(owner)) this.occupy(owner);
    else await this.wait(owner, signal);
    try {
      return await work();
    } finally {
      this.leave(owner);
    }
  }

  private wait(owner: string, signal: AbortSignal | undefined): Promise<void> {
    const ofOwner = this.waiting.get(owner) ?? [];
    if (ofOwner.length >= this.limits.maxWaitingPerOwner) {
      const message = `Too many ${this.limits.work} for this account at once.`;
      throw new PlatformError('RATE_LIMIT_EXCEEDED', message);
    }
    if (this.waitingCount() >= this.limits.maxWaiting) throw this.busy();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        start: () => {
          leave();
          resolve();
        },
      };
      const giveUp = (error: unknown): void => {
        leave();
        this.remove(owner, waiter);
        reject(error instanceof Error ? error : new Error('aborted'));
      };
      const onAbort = (): void => giveUp(signal?.reason);
      const timer = setTimeout(() => giveUp(this.busy()), this.limits.maxWaitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      ofOwner.push(waiter);
      this.waiting.set(owner, ofOwner);
    });
  }

  private leave(owner: string): void {
    const left = (this.running.get(owner) ?? 1) - 1;
    if (left === 0) this.running.delete(owner);
    else this.running.set(owner, left);
    this.startNext();
  }

  private startNext(): void {
    const owner = this.nextOwner();
    const [waiter, ...later] = (owner === null ? undefined : this.waiting.get(owner)) ?? [];
    if (owner === null || waiter === undefined) return;
    // The owner's next turn comes after all others.
    this.waiting.delete(owner);
    if (later.length > 0) this.waiting.set(owner, later);
    this.occupy(owner);
    waiter.start();
  }

  private nextOwner(): string | null {
    let next: string | null = null;
    for (const owner of this.waiting.keys()) {
      const isBefore = next === null || this.slotsOf(owner) < this.slotsOf(next);
      if (isBefore && this.mayStart(owner)) next = owner;
    }
    return next;
  }

  private remove(owner: string, waiter: Waiter): void {
    const others = (this.waiting.get(owner) ?? []).filter((candidate) => candidate !== waiter);
    if (others.length === 0) this.waiting.delete(owner);
    else this.waiting.set(owner, others);
  }

  private mayStart(owner: string): boolean {
    const all = [...this.running.values()].reduce((sum, count) => sum + count, 0);
    return all < this.limits.slots && this.slotsOf(owner) < this.limits.slotsPerOwner;
  }

  private slotsOf(owner: string): number {
    return this.running.get(owner) ?? 0;
  }

  private occupy(owner: string): void {
    this.running.set(owner, this.slotsOf(owner) + 1);
  }

  private waitingCount(): number {
    return [...this.waiting.values()].reduce((sum, waiters) => sum + waiters.length, 0);
  }

  private busy(): PlatformError {
    return new PlatformError('MODEL_AT_CAPACITY', `Too many ${this.limits.work} at the moment.`);
  }
}
