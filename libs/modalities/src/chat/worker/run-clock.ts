import type { RunEvent } from '#inference/host';
import type { JobReport } from '#queue';

/** Measures a run from its start: how long it takes, and how long its first token takes. */
export class RunClock {
  private readonly startedAt = performance.now();
  private firstAt: number | null = null;

  /** Call it with the events of each step of the host. */
  see(events: readonly RunEvent[]): void {
    if (this.firstAt === null && events.some(hasToken)) this.firstAt = performance.now();
  }

  /** Another host starts over, while the client goes on waiting for a token. */
  startAgain(): void {
    this.firstAt = null;
  }

  report(): Pick<JobReport, 'executionMs' | 'firstTokenMs'> {
    const executionMs = Math.round(performance.now() - this.startedAt);
    if (this.firstAt === null) return { executionMs };
    return { executionMs, firstTokenMs: Math.round(this.firstAt - this.startedAt) };
  }
}

/** A token may be held back until its character or word is complete, so a delta without text counts as well. */
function hasToken({ type }: RunEvent): boolean {
  return type === 'text-delta' || type === 'sealed-delta';
}
