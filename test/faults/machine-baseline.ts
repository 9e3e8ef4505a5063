import type { Platform } from '#test/platform';

/**
 * Measures the current load of the machine by the latency of the cheapest route, so that other load does not count
 * against the product.
 */
export class MachineBaseline {
  private readonly answers: { atMs: number; tookMs: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly platform: Platform) {}

  start(): void {
    this.timer = setInterval(() => void this.ask().catch(() => undefined), 50);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Latency of the requests in that period, in ms. */
  slowestMs({ fromMs, toMs }: { fromMs: number; toMs: number }): number {
    return Math.max(
      0,
      ...this.answers.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs).map(({ tookMs }) => tookMs),
    );
  }

  private async ask(): Promise<void> {
    const startedAt = performance.now();
    const atMs = Date.now();
    await (await fetch(`${this.platform.origin}/health/live`)).text();
    this.answers.push({ atMs, tookMs: performance.now() - startedAt });
  }
}
