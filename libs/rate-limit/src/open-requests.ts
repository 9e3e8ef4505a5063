import { PlatformError } from '#common';
import { LimitsConfig } from '#platform/config';
import { Injectable, Optional } from '#platform/injection';
import type { LimitScope } from './limit-headers.js';
import { LimitConfig } from './limits/limit-config.js';
import type { LimitSnapshot } from './limits/limit-snapshot.js';
import type { LimitDecision, LimitedCaller } from './rate-limiter.js';
import { RefusalCounter } from './refusal-counter.js';
import { type Lease, LimitStore } from './store/limit-store.js';
import { accountWindow, keyWindow } from './window-keys.js';

/** How long requests of a replica that died count as open, in ms. */
export const leaseMs = 30_000;

/** Leases are renewed this often, so that one failed renewal ends none. */
const renewEveryMs = leaseMs / 3;

/** Whether a request may run beside the open ones. */
export interface OpenDecision extends LimitDecision {
  /** Ends the request; call it once its response has ended. Does nothing the second time. Never throws. */
  leave(): void;
}

interface Bound {
  scope: Exclude<LimitScope, 'global'>;
  key: string;
  limit: number;
}

/**
 * Bounds the requests that an account and a key have open at once, over all replicas. Each open request is a lease in the
 * limit store that its replica renews: when a replica dies, its leases expire, and nothing has to be corrected.
 */
@Injectable()
export class OpenRequests {
  private readonly held = new Map<string, Lease>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: LimitStore,
    private readonly limitConfig: LimitConfig,
    /** Without rate limits, nothing is counted or refused. */
    private readonly config: LimitsConfig,
    private readonly refusals: RefusalCounter,
    @Optional() private readonly lifetimeMs = leaseMs,
  ) {}

  /** Rejects with `SERVICE_UNAVAILABLE` when the store is unavailable. */
  async enter(caller: LimitedCaller, requestId: string): Promise<OpenDecision> {
    const bounds = this.config.rateLimits ? boundsOf(await this.limitConfig.page(), caller) : [];
    if (bounds.length === 0) return { ...unbounded, leave: () => undefined };
    const keys = bounds.map(({ key }) => key);
    const { granted, open } = await this.store.open({
      leaseId: requestId,
      keys,
      limits: bounds.map(({ limit }) => limit),
      lifetimeMs: this.lifetimeMs,
    });
    const rooms = bounds.map((bound, index) => ({ ...bound, room: bound.limit - (open[index] ?? 0) }));
    const tightest = rooms.reduce((one, other) => (other.room < one.room ? other : one));
    const headers = headersOf(tightest, granted ? tightest.room - 1 : 0);
    if (!granted) return this.refuse(tightest, headers);
    this.hold({ leaseId: requestId, keys });
    return { ...unbounded, headers, leave: () => void this.leave(requestId) };
  }

  /** Ends all requests of this process. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.held.keys()].map((requestId) => this.leave(requestId)));
  }

  private refuse({ scope, limit }: Bound, headers: Record<string, string>): OpenDecision {
    this.refusals.count(`${scope}_concurrent`);
    const owner = scope === 'user' ? 'This account' : 'This API key';
    const refusal = new PlatformError(
      'CONCURRENCY_LIMIT_EXCEEDED',
      `${owner} may have ${limit.toLocaleString('en-US')} requests open at once, and has them. Wait until one ends.`,
      null,
      limit === 0 ? { retry: 'never' } : {},
    );
    return { ...unbounded, headers: { ...headers, 'x-ratelimit-type': scope }, refusal, leave: () => undefined };
  }

  private hold(lease: Lease): void {
    this.held.set(lease.leaseId, lease);
    this.timer ??= setInterval(() => void this.renew(), renewEveryMs).unref();
  }

  private async leave(requestId: string): Promise<void> {
    const lease = this.held.get(requestId);
    if (lease === undefined) return;
    this.held.delete(requestId);
    // If the store does not respond, the lease expires.
    await this.store.release(lease).catch(() => undefined);
  }

  /** Renews what this process has open. The next round makes up for a failed one. */
  async renew(): Promise<void> {
    if (this.held.size === 0) return;
    await this.store.renew([...this.held.values()], this.lifetimeMs).catch(() => undefined);
  }
}

const unbounded: LimitDecision = { headers: {}, refusal: null, tokens: 0, reservation: null };

/** In one order everywhere, as the store requires. */
function boundsOf(page: LimitSnapshot, caller: LimitedCaller): Bound[] {
  const { account, key } = page.concurrentOf(caller);
  return [
    ...(account === null ? [] : [{ scope: 'user' as const, key: accountWindow(caller), limit: account }]),
    ...(key === null ? [] : [{ scope: 'api_key' as const, key: keyWindow(caller), limit: key }]),
  ];
}

function headersOf({ limit }: Bound, remaining: number): Record<string, string> {
  return {
    'x-ratelimit-limit-concurrent': String(limit),
    'x-ratelimit-remaining-concurrent': String(Math.max(0, remaining)),
  };
}
