/** One check of a consumer and its queue. */
export interface PickupCheck {
  /** Time of the check, on a monotonic clock. */
  atMs: number;
  /** Jobs that any worker could take now; null when the store did not say. */
  waiting: number | null;
  /** True when the consumer has capacity for another job. */
  hasCapacity: boolean;
  /** How many jobs it has taken since its start. */
  pickups: number;
}

export type PickupDecision = 'listening' | 'restart' | 'stalled';

/** How many reconnects come before the consumer counts as stalled. */
const maxRestarts = 2;

/** The multiple of the silence after which a reconnect no longer counts. */
const rememberedTimeouts = 10;

/** The largest part of the silence that one check may add: a blocked process has received nothing either. */
const maxPerCheck = 1 / 3;

/**
 * Distinguishes a consumer that listens from one that is connected but stalled: jobs wait, it has capacity, and it
 * takes none. An unavailable store, an empty queue or a full consumer proves nothing.
 */
export class PickupWatch {
  private last: PickupCheck | null = null;
  private stalledMs = 0;
  private restartedAtMs: number[] = [];
  private hasStalled = false;

  /** Takes the silence that is too long, in ms. */
  constructor(private readonly timeoutMs: number) {}

  /** True from the decision `stalled` until a job is taken. */
  get isStalled(): boolean {
    return this.hasStalled;
  }

  check(current: PickupCheck): PickupDecision {
    const { last } = this;
    this.last = current;
    const tookAny = last === null || current.pickups > last.pickups;
    if (tookAny) this.hasStalled = false;
    if (last === null || tookAny || !current.hasCapacity || current.waiting === null || current.waiting === 0) {
      this.stalledMs = 0;
      return this.decision();
    }
    this.stalledMs += Math.min(current.atMs - last.atMs, this.timeoutMs * maxPerCheck);
    if (this.stalledMs < this.timeoutMs) return this.decision();
    this.stalledMs = 0;
    this.restartedAtMs = this.restartedAtMs.filter((atMs) => current.atMs - atMs < this.timeoutMs * rememberedTimeouts);
    if (this.restartedAtMs.length >= maxRestarts) {
      this.hasStalled = true;
      return 'stalled';
    }
    this.restartedAtMs.push(current.atMs);
    return 'restart';
  }

  private decision(): PickupDecision {
    return this.hasStalled ? 'stalled' : 'listening';
  }
}
