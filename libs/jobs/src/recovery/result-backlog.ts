import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { JobResultQueue, PendingResults } from '#queue';

export interface ResultBacklogOptions {
  /** For how long an outcome may be under way before it holds the sweeps up, in ms; default: 1 s. */
  slowMs?: number;
  /** After how long of looking one that still waits is not waited for any more, in ms; default: 5 min. */
  patienceMs?: number;
  /** After how long of looking none is waited for any more until they have flowed again, in ms; default: 15 min. */
  longestPauseMs?: number;
  /** No more than this counts between two looks, as the database may have been away, in ms; default: 10 s. */
  longestGapMs?: number;
  /** Told when the sweeps have paused for half a minute, go on without the outcomes, and when those flow again. */
  logger?: Pick<Logger, 'warn' | 'info'>;
  clock?: Clock;
}

/** For how long the sweeps pause before somebody should know, in ms. */
const tellAfterMs = 30_000;

/** A time in which no look found that outcomes flow. */
interface Pause {
  sinceMs: number;
  /** How much of it was watched. */
  watchedMs: number;
  isPublished: boolean;
  isOver: boolean;
}

/**
 * Says whether outcomes are written as they come: a row is lost only when no outcome waits that may be its own. Asks the
 * queue, which every replica shares and which outlives them. Neither one outcome that can never be written nor many that follow
 * each other slowly may stop the sweeps for good; as every retry comes within seconds of the database's return, time counts only
 * while sweeps can look.
 */
export class ResultBacklog {
  /** For how long each batch that waits was watched, in ms. */
  private ages = new Map<string, number>();
  private lookedAtMs: number | null = null;
  private pause: Pause | null = null;
  private readonly clock: Clock;

  constructor(
    private readonly results: Pick<JobResultQueue, 'pending'>,
    private readonly options: ResultBacklogOptions = {},
  ) {
    this.clock = options.clock ?? systemClock;
  }

  /** Batches of outcomes that the last look found, those that had just come included. */
  get waiting(): number {
    return this.ages.size;
  }

  /** Since when outcomes do not flow, in ms; 0 when they do. The sweeps change nothing in that time, but for the longest pause. */
  get stuckMs(): number {
    return this.pause === null ? 0 : this.clock.monotonicMs() - this.pause.sinceMs;
  }

  /**
   * Ask it after the database has answered and after the queue was asked for the jobs: an outcome is reported before its job
   * leaves the queue. Rejects when the queue does not answer.
   */
  async flows(): Promise<boolean> {
    const { longestGapMs = 10_000 } = this.options;
    const pending = await this.results.pending();
    const nowMs = this.clock.monotonicMs();
    const passedMs = Math.min(nowMs - (this.lookedAtMs ?? nowMs), longestGapMs);
    this.lookedAtMs = nowMs;
    const awaited = this.awaitedOf(pending, passedMs);
    if (awaited.length > 0) return this.isOver(awaited, passedMs);
    this.resume();
    return true;
  }

  /** Those that hold the sweeps up, by how long they were watched, in ms. */
  private awaitedOf({ postponed, underWay }: PendingResults, passedMs: number): number[] {
    const { slowMs = 1_000, patienceMs = 300_000 } = this.options;
    const ageOf = (id: string) => (this.ages.has(id) ? (this.ages.get(id) ?? 0) + passedMs : 0);
    this.ages = new Map([...postponed, ...underWay].map((id) => [id, ageOf(id)]));
    const isAwaited = (id: string, fromMs: number) => {
      const ageMs = this.ages.get(id) ?? 0;
      return ageMs >= fromMs && ageMs < patienceMs;
    };
    const awaited = [...postponed.filter((id) => isAwaited(id, 0)), ...underWay.filter((id) => isAwaited(id, slowMs))];
    return [...new Set(awaited)].map((id) => this.ages.get(id) ?? 0);
  }

  /** True when the sweeps have waited for too long, and go on all the same. */
  private isOver(awaited: number[], passedMs: number): boolean {
    const { longestPauseMs = 900_000, logger } = this.options;
    const nowMs = this.clock.monotonicMs();
    const pause = this.pause ?? { sinceMs: nowMs, watchedMs: -passedMs, isPublished: false, isOver: false };
    this.pause = pause;
    pause.watchedMs += passedMs;
    const figures = { waiting: awaited.length, oldestMs: Math.max(...awaited), pausedMs: nowMs - pause.sinceMs };
    if (!pause.isPublished && figures.pausedMs > tellAfterMs) {
      pause.isPublished = true;
      logger?.warn(figures, 'outcomes wait and are not written: sweeps repair nothing until they are');
    }
    if (!pause.isOver && pause.watchedMs >= longestPauseMs) {
      pause.isOver = true;
      logger?.warn(figures, 'outcomes still wait: sweeps go on without them, and what they say may come too late');
    }
    return pause.isOver;
  }

  private resume(): void {
    const { pause } = this;
    this.pause = null;
    if (pause === null || !pause.isPublished) return;
    const pausedMs = this.clock.monotonicMs() - pause.sinceMs;
    this.options.logger?.info({ pausedMs }, 'outcomes are written again as they come: sweeps repair what is lost');
  }
}
