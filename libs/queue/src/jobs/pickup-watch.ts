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

export type PickupDecision = 'listening' | 'rebuild' | 'deaf';

/** Connections opened anew before the consumer counts as deaf. */
const maxRestarts = 2;

/** Rebuilds older than so many times of silence no longer count. */
const rememberedSilences = 10;

/** No single look adds more than this part of the silence: a process that stood still has heard nothing by itself. */
const maxPerLook = 1 / 3;

/**
 * Tells a consumer that listens from one that is connected and hears nothing: jobs wait, it has room, and it takes none.
 * Everything else is no sign: a store that is away, an empty queue, a full consumer.
 */
export class PickupWatch {
  private last: PickupCheck | null = null;
  private silentMs = 0;
  private restartedAtMs: number[] = [];
  private stalledConsumers = false;

  /** `patienceMs` of silence are too much. */
  constructor(private readonly patienceMs: number) {}

  /** True from the verdict `deaf` until a job is taken after all. */
  get isStalled(): boolean {
    return this.stalledConsumers;
  }

  look(look: PickupCheck): PickupDecision {
    const { last } = this;
    this.last = look;
    const tookAny = last === null || look.pickups > last.pickups;
    if (tookAny) this.stalledConsumers = false;
    if (last === null || tookAny || !look.hasCapacity || look.waiting === null || look.waiting === 0) {
      this.silentMs = 0;
      return this.decision();
    }
    this.silentMs += Math.min(look.atMs - last.atMs, this.patienceMs * maxPerLook);
    if (this.silentMs < this.patienceMs) return this.decision();
    this.silentMs = 0;
    this.restartedAtMs = this.restartedAtMs.filter((atMs) => look.atMs - atMs < this.patienceMs * rememberedSilences);
    if (this.restartedAtMs.length >= maxRestarts) {
      this.stalledConsumers = true;
      return 'deaf';
    }
    this.restartedAtMs.push(look.atMs);
    return 'rebuild';
  }

  private decision(): PickupDecision {
    return this.stalledConsumers ? 'deaf' : 'listening';
  }
}
