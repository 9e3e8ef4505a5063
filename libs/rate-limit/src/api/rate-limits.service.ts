import { type Clock, systemClock } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { Injectable, Optional } from '#platform/injection';
import { LimitConfig } from '../limits/limit-config.js';
import { limitClassOf, type Limits } from '../limits/limit-table.js';
import { RefusalLog } from '../log/refusal-log.js';
import { RefusalLogRepository, type StoredRefusal } from '../log/refusal-log.repository.js';
import type { LimitedCaller } from '../rate-limiter.js';

/** Data of other libraries that callers read besides their limits. */
export abstract class LimitFacts {
  /** Current balances, as numbers for display. */
  abstract balances(accountId: string): Promise<{ USD: number; DIEM: number }>;
  abstract keyExpiration(caller: LimitedCaller): Promise<Date | null>;
  /** Models callers can name. */
  abstract models(): Promise<Pick<ModelManifest, 'id' | 'type' | 'tier'>[]>;
}

export interface LimitOverview {
  balances: { USD: number; DIEM: number };
  keyExpiration: Date | null;
  nextEpochBegins: Date;
  models: { id: string; limits: Limits }[];
}

const dayMs = 86_400_000;

/** Reports limits and refusals to callers. */
@Injectable()
export class RateLimitsService {
  constructor(
    private readonly limitConfig: LimitConfig,
    private readonly facts: LimitFacts,
    private readonly log: RefusalLog,
    private readonly lines: RefusalLogRepository,
    @Optional() private readonly clock: Clock = systemClock,
  ) {}

  async overview(caller: LimitedCaller): Promise<LimitOverview> {
    const { limitConfig, facts, clock } = this;
    const [page, balances, keyExpiration, models] = await Promise.all([
      limitConfig.page(),
      facts.balances(caller.accountId),
      facts.keyExpiration(caller),
      facts.models(),
    ]);
    return {
      balances,
      keyExpiration,
      nextEpochBegins: new Date((Math.floor(clock.nowMs() / dayMs) + 1) * dayMs),
      models: models.map((model) => ({
        id: model.id,
        limits: page.narrowestOfModel(caller, { modelId: model.id, limitClass: limitClassOf(model) }),
      })),
    };
  }

  /** Returns the last refusals of an account, newest first. */
  async refusals(accountId: string): Promise<StoredRefusal[]> {
    // A caller sees its latest refusal on this replica immediately; those of other replicas arrive within a quarter of
    // a second.
    await this.log.flush();
    return await this.lines.last(accountId);
  }
}
