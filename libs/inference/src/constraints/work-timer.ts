/**
 * Measures work of this thread. A busy machine makes no schema harder: time that the process did not get counts as
 * little as time that other threads of it took.
 */
export class WorkTimer {
  private readonly startedAt = performance.now();
  private readonly startedWith = process.cpuUsage();

  /** Elapsed time or processor time of the process, whichever is less. */
  get ms(): number {
    return Math.min(this.elapsedMs, this.processorMs);
  }

  get elapsedMs(): number {
    return performance.now() - this.startedAt;
  }

  /** Whether the work took longer. Cheap until the elapsed time says so. */
  exceeds(ms: number): boolean {
    return this.elapsedMs > ms && this.processorMs > ms;
  }

  private get processorMs(): number {
    const { user, system } = process.cpuUsage(this.startedWith);
    return (user + system) / 1_000;
  }
}
