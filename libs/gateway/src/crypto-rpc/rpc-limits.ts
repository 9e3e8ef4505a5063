import { Inject, Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { ApiConfig } from '#platform/config';
import { callerOf } from '#platform/http';
import { CreditLimiter, type LimitDecision, RateLimiter, type ReachedLimit } from '#rate-limit';
import type { HttpExchange } from '../pipeline/http-exchange.js';
import { StoreBudgets } from '../pipeline/store-budgets.js';

/** A request that the limits let pass. */
export interface AdmittedCalls {
  /** Credits that it has used in the end. */
  used: number;
}

/** Name of these requests in the windows of the limits. */
const service = 'crypto-rpc';

/** Limits of calls of blockchain nodes: requests per minute, requests at once, and credits in 24 hours. */
@Injectable()
export class RpcLimits {
  constructor(
    @Inject(RateLimiter) private readonly limiter: Pick<RateLimiter, 'admitModel'>,
    @Inject(CreditLimiter) private readonly credits: Pick<CreditLimiter, 'take' | 'lock'>,
    @Inject(StoreBudgets) private readonly budgets: StoreBudgets,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'rpcDailyCredits' | 'rpcConcurrent'>,
  ) {}

  /**
   * Takes the most that a request may use, and its turn. When the exchange ends, what was not used is given back, and
   * then the turn, so that the next request finds the credits as they are. Rejects with `RATE_LIMIT_EXCEEDED` or
   * `CONCURRENCY_LIMIT_EXCEEDED`, and then tells the limit in `X-RateLimit-*`.
   */
  async admit(http: HttpExchange, maxCredits: number): Promise<AdmittedCalls> {
    await this.admitMinute(http);
    const leave = await this.takeTurn(http);
    const admitted: AdmittedCalls = { used: 0 };
    let settle = (_credits: number): Promise<void> => Promise.resolve();
    http.onEnd(async () => {
      await settle(admitted.used);
      await leave();
    });
    const { accountId } = callerOf(http.request);
    const limit = this.config.rpcDailyCredits;
    const decision = await this.credits.take({ accountId, credits: maxCredits, limit });
    if (decision.refusal !== null) {
      void http.reply.headers(headersOf(decision.refusal.reached));
      throw decision.refusal.error;
    }
    ({ settle } = decision);
    return admitted;
  }

  private async takeTurn({ request, reply, disconnected }: HttpExchange): Promise<() => Promise<void>> {
    const { accountId } = callerOf(request);
    const { rpcConcurrent: atOnce } = this.config;
    const turn = { accountId, requestId: request.id, limit: atOnce };
    return await this.credits.lock(turn, disconnected).catch((error: unknown) => {
      const isFull = error instanceof PlatformError && error.code === 'CONCURRENCY_LIMIT_EXCEEDED';
      if (isFull) void reply.headers(headersOf({ limit: atOnce, remaining: 0, resetSeconds: inSeconds(1) }));
      throw error;
    });
  }

  private async admitMinute({ request, reply }: HttpExchange): Promise<void> {
    const asked = this.limiter.admitModel(callerOf(request), { modelId: service, limitClass: 'rpc' });
    const decision = await this.budgets.of(request.id).within(asked);
    request.limitDecision = decision;
    void reply.headers(decision.headers);
    if (decision.refusal === null) return;
    void reply.headers(headersOf(minuteOf(decision)));
    throw decision.refusal;
  }
}

/** The same limit in the headers that every route has. */
function minuteOf({ headers }: LimitDecision): ReachedLimit {
  const read = (name: string): number => Number(headers[`x-ratelimit-${name}-requests`] ?? 0);
  return { limit: read('limit'), remaining: read('remaining'), resetSeconds: read('reset') };
}

function inSeconds(seconds: number): number {
  return Math.ceil(Date.now() / 1_000) + seconds;
}

function headersOf({ limit, remaining, resetSeconds }: ReachedLimit): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetSeconds),
  };
}
