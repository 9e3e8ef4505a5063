import { type Clock, systemClock } from '#common';
import { OpsConfig } from '#platform/config';
import { Inject, Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import { type JobResultQueue, type PendingResults, QueueTransport } from '#queue';

export interface ResultBacklogOptions {
  /** How long a result may be in progress before it pauses the sweeps, in ms; default: 1 s. */
  slowMs?: number;
  /** Observed time after which a waiting result is no longer waited for, in ms; default: 5 min. */
  maxWaitMs?: number;
  /** Observed time after which no result is waited for until results flow again, in ms; default: 15 min. */
  longestPauseMs?: number;
  clock?: Clock;
}

/** How long the sweeps pause before it is logged, in ms. */
const tellAfterMs = 30_000;

/** A period in which no check found results flowing. */
interface Pause {
  sinceMs: number;
  /** The observed part of the period, in ms. */
  watchedMs: number;
  isPublished: boolean;
  isOver: boolean;
}

/**
 * Decides whether results are written as they arrive: a row is lost only when no waiting result may belong to it. Reads
 * the queue, which all replicas share and which outlives them. Neither one result that can never be written nor a slow
 * sequence of many may stop the sweeps for good. Every retry comes within seconds of the database's return, so time
 * counts only while sweeps can check.
 */
@Injectable()
export class ResultBacklog {
  /** Observed waiting time of each batch, in ms. */
  private ages = new Map<string, number>();
  private lookedAtMs: number | null = null;
  private pause: Pause | null = null;
  private readonly clock: Clock;
  /** Maximum time counted between two checks, since the database may have been unavailable, in ms. */
  private readonly longestGapMs: number;

  /** Logs when the sweeps have paused for half a minute, continue without the results, and when results flow again. */
  constructor(
    @Inject(QueueTransport) private readonly transport: { results: Pick<JobResultQueue, 'pending'> },
    @Inject(OpsConfig) { sweepIntervalMs }: Pick<OpsConfig, 'sweepIntervalMs'>,
    private readonly logger: Logger,
    @Optional() private readonly options: ResultBacklogOptions = {},
  ) {
    this.clock = options.clock ?? systemClock;
    // Batches cover the interval between sweeps, which may be long.
    this.longestGapMs = Math.max(10_000, 3 * sweepIntervalMs);
  }

  /** Batches of results found by the last check, including those that had just arrived. */
  get waiting(): number {
    return this.ages.size;
  }

  /**
   * How long results have not been flowing, in ms; 0 when they are. The sweeps change nothing in that time, up to the
   * maximum pause.
   */
  get stuckMs(): number {
    return this.pause === null ? 0 : this.clock.monotonicMs() - this.pause.sinceMs;
  }

  /**
   * Call it after the database has responded and after the queue was asked for the jobs: a result is reported before
   * its job leaves the queue. Rejects when the queue does not respond.
   */
  async flows(): Promise<boolean> {
    const pending = await this.transport.results.pending();
    const nowMs = this.clock.monotonicMs();
    const passedMs = Math.min(nowMs - (this.lookedAtMs ?? nowMs), this.longestGapMs);
    this.lookedAtMs = nowMs;
    const awaited = this.awaitedOf(pending, passedMs);
    if (awaited.length > 0) return this.isOver(awaited, passedMs);
    this.resume();
    return true;
  }

  /** The batches that pause the sweeps, by observed time, in ms. */
  private awaitedOf({ postponed, underWay }: PendingResults, passedMs: number): number[] {
    const { slowMs = 1_000, maxWaitMs = 300_000 } = this.options;
    const ageOf = (id: string) => (this.ages.has(id) ? (this.ages.get(id) ?? 0) + passedMs : 0);
    this.ages = new Map([...postponed, ...underWay].map((id) => [id, ageOf(id)]));
    const isAwaited = (id: string, fromMs: number) => {
      const ageMs = this.ages.get(id) ?? 0;
      return ageMs >= fromMs && ageMs < maxWaitMs;
    };
    const awaited = [...postponed.filter((id) => isAwaited(id, 0)), ...underWay.filter((id) => isAwaited(id, slowMs))];
    return [...new Set(awaited)].map((id) => this.ages.get(id) ?? 0);
  }

  /** True when the sweeps have waited too long and continue anyway. */
  private isOver(awaited: number[], passedMs: number): boolean {
    const { longestPauseMs = 900_000 } = this.options;
    const nowMs = this.clock.monotonicMs();
    const pause = this.pause ?? { sinceMs: nowMs, watchedMs: -passedMs, isPublished: false, isOver: false };
    this.pause = pause;
    pause.watchedMs += passedMs;
    const figures = { waiting: awaited.length, oldestMs: Math.max(...awaited), pausedMs: nowMs - pause.sinceMs };
    if (!pause.isPublished && figures.pausedMs > tellAfterMs) {
      pause.isPublished = true;
      this.logger.warn(figures, 'job results are waiting and not being written: sweeps repair nothing until they are');
    }
    if (!pause.isOver && pause.watchedMs >= longestPauseMs) {
      pause.isOver = true;
      this.logger.warn(
        figures,
        'job results are still waiting: sweeps continue without them, and their reports may come too late',
      );
    }
    return pause.isOver;
  }

  private resume(): void {
    const { pause } = this;
    this.pause = null;
    if (pause === null || !pause.isPublished) return;
    const pausedMs = this.clock.monotonicMs() - pause.sinceMs;
    this.logger.info({ pausedMs }, 'job results are being written again: sweeps repair what is lost');
  }
}
