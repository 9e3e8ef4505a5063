const windowMs = 3000;
/** A shorter span shows how text was buffered, not how fast it was written. */
const minSpanMs = 250;

/** Measures a live rate: events of the last three seconds, so that a model that slows down is seen to. */
export class RateMeter {
  private readonly times: number[] = [];
  private startedAt: number | null = null;
  private count = 0;
  private lastAt = 0;

  /** Counts something that arrived at `now`, in ms of any clock. */
  add(now: number, amount = 1): void {
    this.startedAt ??= now;
    this.lastAt = now;
    this.count += amount;
    for (let index = 0; index < amount; index += 1) this.times.push(now);
  }

  get total(): number {
    return this.count;
  }

  /** Per second over the last three seconds, or since the first event if that is less. Null before there is a rate. */
  live(now: number): number | null {
    if (this.startedAt === null) return null;
    while (this.times.length > 0 && (this.times[0] ?? 0) <= now - windowMs) this.times.shift();
    const span = Math.min(windowMs, now - this.startedAt);
    return span < minSpanMs ? null : (this.times.length * 1000) / span;
  }

  /**
   * Per second from the first event to the last; the first one ends the wait and begins the span. Null for what came in
   * one burst.
   */
  average(): number | null {
    const span = this.lastAt - (this.startedAt ?? this.lastAt);
    return span < minSpanMs ? null : ((this.count - 1) * 1000) / span;
  }
}
