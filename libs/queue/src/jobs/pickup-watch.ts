/** One look at a consumer and its queue. */
export interface PickupCheck {
  /** By a clock that does not jump. */
  atMs: number;
  /** Jobs that anybody could take now; null when the store did not say. */
  waiting: number | null;
  /** Whether the consumer has a place for another job. */
  hasCapacity: boolean;
  /** Jobs it has taken since it began. */
  pickups: number;
}

export type PickupDecision = 'listening' | 'restart' | 'stalled';

/** Connections opened anew before the consumer counts as deaf. */
const maxRestarts = 2;

/** Rebuilds older than so many times of silence no longer count. */
const rememberedTimeouts = 10;

/** No single look adds more than this part of the silence: a process that stood still has heard nothing by itself. */
const maxPerCheck = 1 / 3;

/**
 * Tells a consumer that listens from one that is connected and hears nothing: jobs wait, it has room, and it takes none.
 * Everything else is no sign: a store that is away, an empty queue, a full consumer.
 */
export class PickupWatch {
  private last: PickupCheck | null = null;
  private stalledMs = 0;
  private restartedAtMs: number[] = [];
  private hasStalled = false;

  /** `patienceMs` of silence are too much. */
  constructor(private readonly timeoutMs: number) {}

  /** True from the verdict `deaf` until a job is taken after all. */
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
