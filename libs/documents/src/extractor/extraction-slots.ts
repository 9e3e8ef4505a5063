import { PlatformError } from '#common';

export interface SlotLimits {
  /** Extractions at once. */
  slots: number;
  /** Extractions at once of one owner. */
  slotsPerOwner: number;
  /** Extractions that wait, of all owners and of one. */
  maxWaiting: number;
  maxWaitingPerOwner: number;
  /** Maximum wait, in ms. */
  maxWaitMs: number;
}

interface Waiter {
  start(): void;
}

/** Shares a few slots between owners: each in turn, and never all slots to one of them. */
export class ExtractionSlots {
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
    const own = this.waiting.get(owner) ?? [];
    if (own.length >= this.limits.maxWaitingPerOwner) {
      throw new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many files of this account are being read at once.');
    }
    if (this.waitingCount() >= this.limits.maxWaiting) throw busy();
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
      const timer = setTimeout(() => giveUp(busy()), this.limits.maxWaitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      own.push(waiter);
      this.waiting.set(owner, own);
    });
  }

  private leave(owner: string): void {
    const left = (this.running.get(owner) ?? 1) - 1;
    if (left === 0) this.running.delete(owner);
    else this.running.set(owner, left);
    this.startNext();
  }

  private startNext(): void {
    for (const [owner, waiters] of this.waiting) {
      if (!this.mayStart(owner)) continue;
      const [waiter] = waiters;
      if (waiter === undefined) continue;
      // The owner's next turn comes after all others.
      this.waiting.delete(owner);
      if (waiters.length > 1) this.waiting.set(owner, waiters.slice(1));
      this.occupy(owner);
      waiter.start();
      return;
    }
  }

  private remove(owner: string, waiter: Waiter): void {
    const others = (this.waiting.get(owner) ?? []).filter((each) => each !== waiter);
    if (others.length === 0) this.waiting.delete(owner);
    else this.waiting.set(owner, others);
  }

  private mayStart(owner: string): boolean {
    const all = [...this.running.values()].reduce((sum, count) => sum + count, 0);
    return all < this.limits.slots && (this.running.get(owner) ?? 0) < this.limits.slotsPerOwner;
  }

  private occupy(owner: string): void {
    this.running.set(owner, (this.running.get(owner) ?? 0) + 1);
  }

  private waitingCount(): number {
    return [...this.waiting.values()].reduce((sum, waiters) => sum + waiters.length, 0);
  }
}

function busy(): PlatformError {
  return new PlatformError('MODEL_AT_CAPACITY', 'Too many files are being read at the moment.');
}
