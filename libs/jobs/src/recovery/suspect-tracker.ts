import { type Clock, systemClock } from '#common';
import type { OpenJob } from '../lifecycle/jobs.repository.js';

/**
 * Remembers what appears lost. One check proves nothing: a finished job is no longer in the queue while its result is
 * still on the way. Only what appears lost again `confirmMs` later is lost.
 */
export class SuspectTracker {
  private seen = new Map<string, number>();

  constructor(
    private readonly confirmMs: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** True when nothing appeared lost at the last check. */
  get isEmpty(): boolean {
    return this.seen.size === 0;
  }

  /** Returns those keys that have appeared lost for long enough; forgets all others. */
  confirm(keys: string[]): Set<string> {
    const nowMs = this.clock.monotonicMs();
    this.seen = new Map(keys.map((key) => [key, this.seen.get(key) ?? nowMs]));
    return new Set(keys.filter((key) => nowMs - (this.seen.get(key) ?? nowMs) >= this.confirmMs));
  }

  /** Returns those jobs whose current attempt has appeared lost for long enough; forgets all others. */
  confirmJobs(jobs: OpenJob[]): OpenJob[] {
    const keyOf = ({ requestId, attempt }: OpenJob) => `${requestId}/${attempt}`;
    const confirmed = this.confirm(jobs.map(keyOf));
    return jobs.filter((job) => confirmed.has(keyOf(job)));
  }

  /** Forgets all suspects after a failed or inconclusive check: what was seen before it confirms nothing. */
  forget(): void {
    this.seen.clear();
  }
}
