import { type Clock, systemClock } from '#common';
import { Injectable, Optional } from '#platform/injection';
import { SumTurns } from './sum-turns.js';
import { AnalyticsBuilder, type UsageAnalytics } from './usage-analytics.js';
import { UsageAnalyticsRepository, type UsageDays } from './usage-analytics.repository.js';

export interface UsageAnalyticsOptions {
  clock?: Clock;
  /**
   * How long an aggregation may wait for its slot, and how long the database may then compute; default 8,000. Keep it
   * well below the driver's timeout, since the database would continue after the driver gave up.
   */
  timeoutMs?: number;
}

interface Cached {
  answer: Promise<UsageAnalytics>;
  untilMs: number;
}

const cacheMs = 600_000;
const maxCached = 1_000;
const maxSumsAtOnce = 2;
const oneDayMs = 86_400_000;

/** Returns every day of a range. */
export function datesOf({ startDate, endDate }: UsageDays): string[] {
  const dates: string[] = [];
  for (let ms = Date.parse(startDate); ms <= Date.parse(endDate); ms += oneDayMs) {
    dates.push(new Date(ms).toISOString().slice(0, 10));
  }
  return dates;
}

/**
 * Reports an account's spending by day, model and key. A report serves all requests of this process for the same days
 * of the same account within 10 minutes, also while it is computed; failures are not cached. Two aggregations run at
 * once, of two accounts.
 */
@Injectable()
export class UsageAnalyticsService {
  private readonly clock: Clock;
  private readonly timeoutMs: number;
  private readonly turns: SumTurns;
  private readonly cache = new Map<string, Cached>();

  constructor(
    private readonly repository: UsageAnalyticsRepository,
    @Optional() { clock = systemClock, timeoutMs = repository.maxSumMs }: UsageAnalyticsOptions = {},
  ) {
    this.clock = clock;
    this.timeoutMs = timeoutMs;
    this.turns = new SumTurns({ maxAtOnce: maxSumsAtOnce, waitMs: timeoutMs });
  }

  /**
   * Rejects with `REQUEST_TIMEOUT` when the range is too large to aggregate in time, or other aggregations used up the
   * time.
   */
  async analyse(accountId: string, days: UsageDays): Promise<UsageAnalytics> {
    const name = `${accountId} ${days.startDate} ${days.endDate}`;
    const known = this.cache.get(name);
    if (known && known.untilMs > this.clock.monotonicMs()) return known.answer;
    const entry = {
      answer: this.turns.run(accountId, () => this.read(accountId, days)),
      untilMs: this.clock.monotonicMs() + cacheMs,
    };
    this.remember(name, entry);
    try {
      return await entry.answer;
    } catch (error) {
      if (this.cache.get(name) === entry) this.cache.delete(name);
      throw error;
    }
  }

  private async read(accountId: string, days: UsageDays): Promise<UsageAnalytics> {
    const sums = await this.repository.sums(accountId, days, this.timeoutMs);
    const named = (pick: (sum: (typeof sums)[number]) => string | null) => [
      ...new Set(sums.map(pick).filter((id) => id !== null)),
    ];
    const modelTypes = await this.repository.modelTypes(named(({ modelId }) => modelId));
    const keys = await this.repository.keyNames(named(({ apiKeyId }) => apiKeyId));
    return new AnalyticsBuilder(sums, datesOf(days), modelTypes, keys).build();
  }

  private remember(name: string, entry: Cached): void {
    this.cache.delete(name);
    this.cache.set(name, entry);
    // A map iterates in insertion order: the first is the oldest report.
    const oldest = this.cache.size > maxCached ? this.cache.keys().next().value : undefined;
    if (oldest !== undefined) this.cache.delete(oldest);
  }
}
