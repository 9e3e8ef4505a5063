import { type Clock, systemClock } from '#common';
import type { OpenJob } from '../lifecycle/jobs.repository.js';

/**
 * Remembers what looks lost. One look proves nothing: a job that has just ended is no longer in the queue while its
 * outcome is still on the way. Only what looks lost again `confirmMs` later is.
 */
export class SuspectTracker {
  private seen = new Map<string, number>();

  constructor(
    private readonly confirmMs: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** True when nothing looked lost at the last look. */
  get isEmpty(): boolean {
    return this.seen.size === 0;
  }

  /** Of the keys that look lost now, those that have for long enough; forgets all others. */
  confirm(keys: string[]): Set<string> {
    const nowMs = this.clock.monotonicMs();
    this.seen = new Map(keys.map((key) => [key, this.seen.get(key) ?? nowMs]));
    return new Set(keys.filter((key) => nowMs - (this.seen.get(key) ?? nowMs) >= this.confirmMs));
  }

  /** Of the jobs that look lost now, those whose current attempt has for long enough; forgets all others. */
  confirmJobs(jobs: OpenJob[]): OpenJob[] {
    const keyOf = ({ requestId, attempt }: OpenJob) => `${requestId}/${attempt}`;
    const confirmed = this.confirm(jobs.map(keyOf));
    return jobs.filter((job) => confirmed.has(keyOf(job)));
  }

  /** For a look that failed or says nothing: what was seen before it confirms nothing. */
  forget(): void {
    this.seen.clear();
  }
}
