import type { Clock } from '#common';
import type { JobProgress, ProgressBus } from '../contract/transport.js';
import type { MessageBus } from '../contract/message-bus.js';
import type { Seals } from '../contract/seals.js';

const channel = 'progress';

/** Interval between two reports of one job, in ms. */
const everyMs = 1_000;

/** The largest attempt that the database can store. */
const maxAttempt = 2 ** 31 - 1;

/** How many jobs' last reports are remembered; the oldest are dropped first. */
const rememberedJobs = 10_000;

type Report = Omit<JobProgress, 'modelId'>;

interface ProgressMessage {
  modelId: string;
  /** The report as JSON, sealed when there are keys. */
  report: string;
}

/**
 * Progress over the store's bus, throttled per job. With keys, reports are sealed with the key of the model: workers of
 * other pools learn no ids of running jobs, and cannot report progress for them.
 */
export class BusProgress implements ProgressBus {
  private readonly listeners = new Set<(progress: JobProgress) => void>();
  private readonly sentAtMs = new Map<string, number>();
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly bus: MessageBus,
    private readonly clock: Clock,
    private readonly seals: Seals,
  ) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.bus.subscribe(channel, (text) => this.receive(text));
  }

  report({ requestId, modelId, attempt, percent }: JobProgress): void {
    const nowMs = this.clock.monotonicMs();
    const isFirst = percent === 0;
    if (!isFirst && nowMs - (this.sentAtMs.get(requestId) ?? -Infinity) < everyMs) return;
    this.sentAtMs.delete(requestId);
    this.sentAtMs.set(requestId, nowMs);
    if (this.sentAtMs.size > rememberedJobs) this.sentAtMs.delete(this.sentAtMs.keys().next().value ?? '');
    const whole = Math.min(100, Math.max(0, Math.floor(percent)));
    const text = this.write(modelId, { requestId, attempt, percent: whole });
    // An unavailable store loses only a report.
    if (text !== null) this.bus.publish(channel, text).catch(() => undefined);
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
    // Most processes have no listener, and need not read the message.
    if (this.listeners.size === 0) return;
    const progress = this.read(JSON.parse(text) as Partial<ProgressMessage> | null);
    if (progress !== null) for (const listener of this.listeners) listener(progress);
  }

  private write(modelId: string, report: Report): string | null {
    const seal = this.seals.sealOf(modelId);
    if (seal === null && !this.seals.isEmpty) return null;
    const text = JSON.stringify(report);
    return JSON.stringify({ modelId, report: seal?.seal(placeOf(modelId), text) ?? text } satisfies ProgressMessage);
  }

  /** Returns null for what the workers of the model did not report. */
  private read(message: Partial<ProgressMessage> | null): JobProgress | null {
    const { modelId, report } = message ?? {};
    if (typeof modelId !== 'string' || typeof report !== 'string') return null;
    const seal = this.seals.sealOf(modelId);
    if (seal === null && !this.seals.isEmpty) return null;
    try {
      const text = seal?.open(placeOf(modelId), report) ?? report;
      const { requestId, attempt, percent } = JSON.parse(text) as Report;
      const isReport = typeof requestId === 'string' && isWithin(attempt, maxAttempt) && isWithin(percent, 100);
      return isReport ? { requestId, modelId, attempt, percent } : null;
    } catch {
      return null;
    }
  }
}

function placeOf(modelId: string): string {
  return `progress of ${modelId}`;
}

function isWithin(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
}
