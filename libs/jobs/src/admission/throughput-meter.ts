import { type Clock, systemClock } from '#common';
import { Inject, Injectable, Optional } from '#platform/injection';
import { type Heartbeat, QueueTransport } from '#queue';

/** Interval between two looks at the heartbeats, in ms: they come once a second. */
const lookEveryMs = 1_000;

/** A worker that was full in two heartbeats further apart than this may have been idle between them, in ms. */
const maxGapMs = 5_000;

/** The estimate is of so many jobs, or of this long, whichever is shorter; with fewer than the minimum there is none. */
const maxJobs = 50;
const maxAgeMs = 600_000;
const minJobs = 3;

/** What a worker ended while all its slots were in use. */
interface Stretch {
  readonly atMs: number;
  readonly ended: number;
  /** Slots times ms. */
  readonly slotMs: number;
}

interface Sample {
  readonly heartbeat: Heartbeat;
  readonly atMs: number;
  readonly ended: number;
  readonly isFull: boolean;
}

/**
 * How many jobs of a model its workers end in a ms when they have more than they can run. Measured from heartbeats, over times in
 * which a worker was full: what a worker with room ends says how many jobs came, and not how many it could have done.
 */
@Injectable()
export class ThroughputMeter {
  private readonly samples = new Map<string, Sample>();
  private readonly stretches = new Map<string, Stretch[]>();
  private readonly slots = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(QueueTransport) private readonly transport: { membership: { list(): readonly Heartbeat[] } },
    @Optional() private readonly clock: Clock = systemClock,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => this.look(), lookEveryMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Returns jobs per ms of all workers that serve the model now; null: not known. */
  rateOf(modelId: string): number | null {
    const stretches = this.stretches.get(modelId) ?? [];
    const sinceMs = this.clock.monotonicMs() - maxAgeMs;
    let ended = 0;
    let slotMs = 0;
    for (const stretch of stretches.toReversed()) {
      if (stretch.atMs < sinceMs || ended >= maxJobs) break;
      ended += stretch.ended;
      slotMs += stretch.slotMs;
    }
    const slots = this.slots.get(modelId) ?? 0;
    return ended < minJobs || slots === 0 ? null : (ended / slotMs) * slots;
  }

  /** Reads the heartbeats of all workers. */
  look(): void {
    const atMs = this.clock.monotonicMs();
    const known = new Set<string>();
    this.slots.clear();
    for (const heartbeat of this.transport.membership.list()) {
      for (const { modelId, state, slots, running, ended } of heartbeat.models) {
        if (state !== 'ready') continue;
        this.slots.set(modelId, (this.slots.get(modelId) ?? 0) + slots);
        if (ended === undefined) continue;
        const key = `${heartbeat.processId} ${modelId}`;
        known.add(key);
        this.compare(key, { modelId, slots }, { heartbeat, atMs, ended, isFull: slots > 0 && running >= slots });
      }
    }
    for (const key of this.samples.keys()) if (!known.has(key)) this.samples.delete(key);
  }

  private compare(key: string, { modelId, slots }: { modelId: string; slots: number }, sample: Sample): void {
    const before = this.samples.get(key);
    if (before?.heartbeat === sample.heartbeat) return;
    this.samples.set(key, sample);
    if (before === undefined || !before.isFull || !sample.isFull) return;
    const ms = sample.atMs - before.atMs;
    const ended = sample.ended - before.ended;
    // A negative number: the worker has loaded the model again.
    if (ms <= 0 || ms > maxGapMs || ended < 0) return;
    const stretches = this.stretches.get(modelId) ?? [];
    stretches.push({ atMs: sample.atMs, ended, slotMs: ms * slots });
    const firstMs = sample.atMs - maxAgeMs;
    while ((stretches[0]?.atMs ?? firstMs) < firstMs) stretches.shift();
    this.stretches.set(modelId, stretches);
  }
}
