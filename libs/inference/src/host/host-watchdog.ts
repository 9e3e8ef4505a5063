import { addInterval, describeSilence, isDead, noSilence, type Silence } from './host-silence.js';
import type { ProcessActivity } from './process-activity.js';

export interface HostWatchdogOptions {
  /** Null where nothing can be read; silence then counts as it is. */
  readActivity: (pid: number) => ProcessActivity | null;
  onDead: (reason: string) => void;
}

interface Watch {
  pid: number | undefined;
  limitMs: number;
  reason: string;
  timer: NodeJS.Timeout;
}

/** Readings in a silence that lasts for the limit, and the longest time between two of them, in ms. */
const readingsPerLimit = 10;
const longestIntervalMs = 5_000;

/**
 * Watches the silence of a host and reports it once when the host counts as dead. An interval counts for at most its
 * planned length: in the rest, this process itself did not run, as in a paused container.
 */
export class HostWatchdog {
  private watched: Watch | null = null;
  private silence: Silence = noSilence;
  private countedUntilMs = 0;
  private lastReading: ProcessActivity | null = null;
  private wasHeard = false;

  constructor(private readonly options: HostWatchdogOptions) {}

  /** Begins with a new silence. */
  watch({ pid, limitMs, reason }: Pick<Watch, 'pid' | 'limitMs' | 'reason'>): void {
    this.stop();
    const intervalMs = Math.min(limitMs / readingsPerLimit, longestIntervalMs);
    this.watched = { pid, limitMs, reason, timer: setInterval(() => this.tick(intervalMs), intervalMs) };
    this.heard();
  }

  /** The host has sent something. Called for every message, so it does next to nothing. */
  heard(): void {
    this.wasHeard = true;
    this.lastReading = null;
    this.silence = noSilence;
    this.countedUntilMs = performance.now();
  }

  stop(): void {
    if (this.watched !== null) clearInterval(this.watched.timer);
    this.watched = null;
    this.lastReading = null;
  }

  private tick(intervalMs: number): void {
    if (this.watched === null) return;
    const { pid, limitMs, reason } = this.watched;
    const nowMs = performance.now();
    const ms = Math.min(nowMs - this.countedUntilMs, intervalMs);
    this.countedUntilMs = nowMs;
    const before = this.lastReading;
    // A host that sends something is not examined.
    this.lastReading = this.wasHeard || pid === undefined ? null : this.options.readActivity(pid);
    this.wasHeard = false;
    this.silence = addInterval(this.silence, { ms, before, after: this.lastReading });
    if (!isDead(this.silence, limitMs)) return;
    const text = describeSilence(this.silence);
    this.stop();
    this.options.onDead(`${reason} (${text})`);
  }
}
