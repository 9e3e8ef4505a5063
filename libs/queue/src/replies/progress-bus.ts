import type { Clock } from '#common';
import type { MessageBus } from '../backends/store.js';
import type { JobProgress, ProgressBus } from '../transport.js';

const channel = 'progress';

/** Interval between two reports of one job, in ms. */
const everyMs = 1_000;

/** Jobs whose last report is remembered; the oldest are dropped first. */
const rememberedJobs = 10_000;

/** Progress over the store's bus, throttled per job. */
export class BusProgress implements ProgressBus {
  private readonly listeners = new Set<(progress: JobProgress) => void>();
  private readonly sentAtMs = new Map<string, number>();
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly bus: MessageBus,
    private readonly clock: Clock,
  ) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.bus.subscribe(channel, (text) => this.receive(text));
  }

  report({ requestId, attempt, percent }: JobProgress): void {
    const nowMs = this.clock.monotonicMs();
    const isFirst = percent === 0;
    if (!isFirst && nowMs - (this.sentAtMs.get(requestId) ?? -Infinity) < everyMs) return;
    this.sentAtMs.delete(requestId);
    this.sentAtMs.set(requestId, nowMs);
    if (this.sentAtMs.size > rememberedJobs) this.sentAtMs.delete(this.sentAtMs.keys().next().value ?? '');
    const whole = Math.min(100, Math.max(0, Math.floor(percent)));
    // An unavailable store loses a report and no more.
    this.bus.publish(channel, JSON.stringify({ requestId, attempt, percent: whole })).catch(() => undefined);
  }

  subscribe(listener: (progress: JobProgress) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.unsubscribe();
    this.listeners.clear();
  }

  private receive(text: string): void {
    // Most processes have no listener.
    if (this.listeners.size === 0) return;
    const progress = JSON.parse(text) as JobProgress;
    for (const listener of this.listeners) listener(progress);
  }
}
