import type { PrismaService } from '#platform/prisma';
import { FailureGuard } from './failure-guard.js';
import { LimitConfig } from './limits/limit-config.js';
import { LimitOverridesRepository } from './limits/limit-overrides.repository.js';
import type { StandingLimits } from './limits/limit-snapshot.js';
import { RefusalLog } from './log/refusal-log.js';
import { RefusalLogRepository } from './log/refusal-log.repository.js';
import { RateLimiter } from './rate-limiter.js';
import type { RefusalReason } from './refusal.js';
import type { FailureRule, LimitStore } from './store/limit-store.js';
import { openLimitStore } from './store/open-limit-store.js';
import { TokenCorrector } from './token-reservation.js';

export interface RateLimitsOptions {
  prisma: PrismaService;
  /** Where the windows live; null: in the database. */
  redisUrl: string | null;
  namespace: string;
  /** False: nothing is counted or refused. */
  enabled: boolean;
  standing: StandingLimits;
  /** Null: failures block nobody. */
  failures: FailureRule | null;
  onRefused: (reason: RefusalReason) => void;
  warn: (message: string, error: unknown) => void;
}

/** The parts of this library that an api replica needs, put together. */
export interface RateLimits {
  store: LimitStore;
  limitConfig: LimitConfig;
  log: RefusalLog;
  lines: RefusalLogRepository;
  corrector: TokenCorrector;
  limiter: RateLimiter;
  /** Writes the log and lets go of the store. */
  close(): Promise<void>;
}

/** Rejects when the Redis of the windows does not answer within 10 s. */
export async function openRateLimits(options: RateLimitsOptions): Promise<RateLimits> {
  const { prisma, redisUrl, namespace, enabled, standing, failures, onRefused, warn } = options;
  const store = await openLimitStore({ redisUrl, prisma, namespace, warn });
  const lines = new RefusalLogRepository(prisma);
  const log = new RefusalLog(
    (refusals) => lines.add(refusals),
    (error) => warn('The log of refused requests could not be written.', error),
  );
  const overrides = new LimitOverridesRepository(prisma);
  const limitConfig = new LimitConfig(() => overrides.list(), standing);
  const corrector = new TokenCorrector(store, (error) => warn('Reserved tokens could not be put right.', error));
  const guard = new FailureGuard(store, failures);
  const limiter = new RateLimiter({ store, limitConfig, guard, corrector, log, enabled, onRefused });
  return {
    store,
    limitConfig,
    log,
    lines,
    corrector,
    limiter,
    close: async () => {
      await log.flush();
      await store.close();
    },
  };
}
