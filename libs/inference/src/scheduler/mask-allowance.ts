/** How long all constraints may work between two steps, in ms. */
const stepMs = 8;

/** How long one of them may work at a time, in ms. */
const sliceMs = 4;

/** Shares the time between two steps among the constraints that do not know yet which tokens may come next. */
export class MaskAllowance {
  private leftMs = stepMs;

  /** A step begins. */
  renew(): void {
    this.leftMs = stepMs;
  }

  /** Calls `work` with the ms that it may take; one that needs no time gets its answer in any case. */
  spend(work: (ms: number) => boolean): boolean {
    const startedAt = performance.now();
    const isDone = work(Math.max(0, Math.min(sliceMs, this.leftMs)));
    this.leftMs -= performance.now() - startedAt;
    return isDone;
  }
}
