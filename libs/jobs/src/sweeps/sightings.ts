import { type Clock, systemClock } from '#common';

/**
 * Remembers what looks lost. One look proves nothing: a job that has just ended is no longer in the queue while its
 * outcome is still on the way. Only what looks lost again `confirmMs` later is.
 */
export class Sightings {
  private seen = new Map<string, number>();

  constructor(
    private readonly confirmMs: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Of the keys that look lost now, those that have for long enough; forgets all others. */
  confirm(keys: string[]): Set<string> {
    const nowMs = this.clock.monotonicMs();
    this.seen = new Map(keys.map((key) => [key, this.seen.get(key) ?? nowMs]));
    return new Set(keys.filter((key) => nowMs - (this.seen.get(key) ?? nowMs) >= this.confirmMs));
  }
}
