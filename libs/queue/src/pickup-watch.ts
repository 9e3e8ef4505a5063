/** One look at a consumer and its queue. */
export interface PickupLook {
  /** By a clock that does not jump. */
  atMs: number;
  /** Jobs that anybody could take now; null when the store did not say. */
  waiting: number | null;
  /** Whether the consumer has a place for another job. */
  hasRoom: boolean;
  /** Jobs it has taken since it began. */
  pickups: number;
}

export type PickupVerdict = 'listening' | 'rebuild' | 'deaf';

/** Connections opened anew before the consumer counts as deaf. */
const mostRebuilds = 2;

/** Rebuilds older than so many times of silence no longer count. */
const rememberedSilences = 10;

/** No single look adds more than this part of the silence: a process that stood still has heard nothing by itself. */
const mostPerLook = 1 / 3;

/**
 * Tells a consumer that listens from one that is connected and hears nothing: jobs wait, it has room, and it takes none.
 * Everything else is no sign: a store that is away, an empty queue, a full consumer.
 */
export class PickupWatch {
  private last: PickupLook | null = null;
  private silentMs = 0;
  private rebuiltAtMs: number[] = [];
  private deaf = false;

  /** `patienceMs` of silence are too much. */
  constructor(private readonly patienceMs: number) {}

  /** True from the verdict `deaf` until a job is taken after all. */
  get isDeaf(): boolean {
    return this.deaf;
  }

  look(look: PickupLook): PickupVerdict {
    const { last } = this;
    this.last = look;
    const tookAny = last === null || look.pickups > last.pickups;
    if (tookAny) this.deaf = false;
    if (last === null || tookAny || !look.hasRoom || look.waiting === null || look.waiting === 0) {
      this.silentMs = 0;
      return this.verdict();
    }
    this.silentMs += Math.min(look.atMs - last.atMs, this.patienceMs * mostPerLook);
    if (this.silentMs < this.patienceMs) return this.verdict();
    this.silentMs = 0;
    this.rebuiltAtMs = this.rebuiltAtMs.filter((atMs) => look.atMs - atMs < this.patienceMs * rememberedSilences);
    if (this.rebuiltAtMs.length >= mostRebuilds) {
      this.deaf = true;
      return 'deaf';
    }
    this.rebuiltAtMs.push(look.atMs);
    return 'rebuild';
  }

  private verdict(): PickupVerdict {
    return this.deaf ? 'deaf' : 'listening';
  }
}
