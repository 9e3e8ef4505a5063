import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { ApiConfig } from '#platform/config';
import type { HttpExchange, RequestCaller } from '#platform/http';
import { CreditLimiter, type LimitDecision, RateLimiter, type ReachedLimit } from '#rate-limit';

/** What is taken from the limits, for one request or for those that will come. */
export interface LimitUse {
  requests: number;
  credits: number;
}

export interface LimitDemand extends LimitUse {
  /** True when a refusal neither counts nor is logged, because something smaller is asked for next. */
  isTrial: boolean;
}

/** Requests and credits that the limits gave. */
export interface TakenLimits {
  /** How many requests the limits gave; at most as many as were asked for. */
  requests: number;
  /** The decision for one of its requests, while `unused` others are left. */
  decision(unused: number): LimitDecision;
  /** Gives back what was not used; never rejects. */
  settle(used: LimitUse): Promise<void>;
}

/** A limit that was reached, and what to respond. */
export class LimitRefusal extends Error {
  override readonly name = 'LimitRefusal';

  constructor(
    readonly error: PlatformError,
    readonly headers: Record<string, string>,
    readonly decision: LimitDecision | null,
  ) {
    super(error.message, { cause: error });
  }
}

/** Name of these requests in the windows of the limits. */
const use = { modelId: 'crypto-rpc', limitClass: 'rpc' } as const;

/** Limits of calls of blockchain nodes: requests per minute, requests at once, and credits in 24 hours. */
@Injectable()
export class RpcLimits {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly credits: CreditLimiter,
    private readonly config: ApiConfig,
  ) {}

  /** Takes requests of the minute and credits of the day: all or nothing. Rejects with `LimitRefusal`, or as the stores do. */
  async take(caller: RequestCaller, { requests, credits, isTrial }: LimitDemand): Promise<TakenLimits> {
    const { accountId } = caller;
    const [minute, day] = await Promise.allSettled([
      this.limiter.admitAhead(caller, use, { requests, isTrial }),
      this.credits.take({ accountId, credits, limit: this.config.rpcDailyCredits, isTrial }),
    ]);
    const release = async (): Promise<void> => {
      if (day.status === 'fulfilled') await day.value.settle(0);
      if (minute.status === 'fulfilled') await minute.value.settle(0);
    };
    if (minute.status === 'rejected' || day.status === 'rejected') {
      await release();
      throw minute.status === 'rejected' ? minute.reason : (day as PromiseRejectedResult).reason;
    }
    const { decision, headers } = minute.value;
    const { refusal } = day.value;
    if (decision.refusal !== null) {
      await release();
      throw new LimitRefusal(decision.refusal, headersOf(minuteOf(decision)), decision);
    }
    if (refusal !== null) {
      // The request counts, like each that is refused later.
      await minute.value.settle(isTrial ? 0 : 1);
      throw new LimitRefusal(refusal.error, headersOf(refusal.reached), decision);
    }
    return {
      requests: minute.value.requests,
      decision: (unused) => ({ ...decision, headers: headers(unused) }),
      settle: async (used) =>
        void (await Promise.all([minute.value.settle(used.requests), day.value.settle(used.credits)])),
    };
  }

  /**
   * Waits for the turn of a request; resolves to the function that ends it. Rejects with `LimitRefusal`, as the store
   * does, and with the reason of the disconnection.
   */
  async turn({ caller, disconnected }: HttpExchange): Promise<() => void> {
    const { accountId } = caller;
    const { rpcConcurrent: limit } = this.config;
    return await this.credits.lock({ accountId, limit }, disconnected).catch((error: unknown) => {
      const isFull = error instanceof PlatformError && error.code === 'CONCURRENCY_LIMIT_EXCEEDED';
      if (!isFull) throw error;
      const reached = { limit, remaining: 0, resetSeconds: Math.ceil(Date.now() / 1_000) + 1 };
      throw new LimitRefusal(error, headersOf(reached), null);
    });
  }
}

/** The same limit in the headers that every route has. */
function minuteOf({ headers }: LimitDecision): ReachedLimit {
  const read = (name: string): number => Number(headers[`x-ratelimit-${name}-requests`] ?? 0);
  return { limit: read('limit'), remaining: read('remaining'), resetSeconds: read('reset') };
}

function headersOf({ limit, remaining, resetSeconds }: ReachedLimit): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetSeconds),
  };
}
