import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { PlatformError } from '#common';
import { coalesceWrites, tolerateDeniedInfo } from '#platform/redis';
import type {
  FailAnswer,
  FailureRule,
  Lease,
  LeaseAnswer,
  LeaseDemand,
  LimitStore,
  TakeAnswer,
  TakeDemand,
  WindowState,
} from './limit-store.js';
import type { LimitWindow } from './limit-window.js';
import { openScript, renewScript } from './redis-lease-scripts.js';
import { correctScript, failScript, takeScript } from './redis-scripts.js';

export interface RedisLimitStoreOptions {
  /** `redis://…` or `rediss://…`. */
  url: string;
  /** Prefix of every key. */
  namespace: string;
  /** Length of the windows of limits; a failure rule brings its own. */
  window: LimitWindow;
  warn: (message: string, error: unknown) => void;
}

/** Timeout of the first connection, in ms. */
const startTimeoutMs = 10_000;

/** Timeout of one step, in ms. A request must not hang because the store is unavailable. */
const stepTimeoutMs = 1_000;

/** A connection without any byte in response for this long is reopened, in ms. */
const silentAfterMs = 4_000;

/** Leases renewed in one step. */
const maxRenewed = 1_000;

interface Script {
  text: string;
  sha1: string;
}

const scriptOf = (text: string): Script => ({ text, sha1: createHash('sha1').update(text).digest('hex') });
const [take, correct, fail] = [scriptOf(takeScript), scriptOf(correctScript), scriptOf(failScript)] as const;
const [open, renew] = [scriptOf(openScript), scriptOf(renewScript)] as const;

/** One script per step. Reconnects by itself after every loss; until then each step fails at once. */
export class RedisLimitStore implements LimitStore {
  private constructor(
    private readonly client: Redis,
    private readonly options: RedisLimitStoreOptions,
  ) {}

  /** Rejects with `SERVICE_UNAVAILABLE` when the server does not respond within 10 s. */
  static async open(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
    const client = new Redis(options.url, {
      connectionName: 'limits',
      lazyConnect: true,
      // A step is not repeated blindly: a pending one may have taken effect when the connection broke.
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: stepTimeoutMs,
      socketTimeout: silentAfterMs,
      connectTimeout: 5_000,
      retryStrategy: (attempt: number) => Math.min(attempt * 50, 500),
    });
    tolerateDeniedInfo(client).on('connect', () => coalesceWrites(client.stream));
    client.on('error', (error) => options.warn('The Redis of the rate limits reported an error.', error));
    await untilReady(client);
    return new RedisLimitStore(client, options);
  }

  async take({ guard, windows, tokens, window: shape = this.options.window }: TakeDemand): Promise<TakeAnswer> {
    const keys = [this.blockKey(guard), ...windows.map(({ key }) => this.windowKey(key))];
    const limits = windows.flatMap((window) => [window.requests ?? -1, window.tokens ?? -1]);
    const { slotMs } = shape;
    const [granted = 0, blockedMs = 0, nowMs = 0, slot = 0, ...numbers] = await this.run(take, keys, [
      tokens,
      spanOf(shape),
      slotMs,
      ...limits,
    ]);
    const states =
      blockedMs > 0 ? [] : windows.map((_window, index) => stateOf(numbers.slice(index * 6), nowMs, shape));
    return { granted: granted === 1, blockedMs, nowMs, slot, states };
  }

  async correct(keys: readonly string[], slot: number, change: number): Promise<void> {
    const names = keys.map((key) => this.windowKey(key));
    await this.run(correct, names, [slot, change]);
  }

  async fail(guard: string, { max, window, blockMs }: FailureRule): Promise<FailAnswer> {
    const keys = [this.windowKey(guard), this.blockKey(guard)];
    const span = spanOf(window);
    const [blockedMs = 0, began = 0, nowMs = 0] = await this.run(fail, keys, [max, span, window.slotMs, blockMs]);
    return { blockedMs, began: began === 1, nowMs };
  }

  async open({ leaseId, keys, limits, lifetimeMs }: LeaseDemand): Promise<LeaseAnswer> {
    const names = keys.map((key) => this.leaseKey(key));
    const [granted, ...others] = await this.run(open, names, [leaseId, lifetimeMs, ...limits]);
    return { granted: granted === 1, open: others };
  }

  async renew(leases: readonly Lease[], lifetimeMs: number): Promise<void> {
    const all = leases.flatMap(({ leaseId, keys }) => keys.map((key) => ({ leaseId, key: this.leaseKey(key) })));
    for (let from = 0; from < all.length; from += maxRenewed) {
      const some = all.slice(from, from + maxRenewed);
      const ids = some.map(({ leaseId }) => leaseId);
      await this.run(
        renew,
        some.map(({ key }) => key),
        [lifetimeMs, ...ids],
      );
    }
  }

  async release({ leaseId, keys }: Lease): Promise<void> {
    await Promise.all(keys.map((key) => this.client.zrem(this.leaseKey(key), leaseId))).catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  async ping(): Promise<void> {
    await this.client.ping().catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  async close(): Promise<void> {
    this.client.disconnect();
    await Promise.resolve();
  }

  private async run({ text, sha1 }: Script, keys: string[], values: (string | number)[]): Promise<number[]> {
    const parts = [keys.length, ...keys, ...values] as [number, ...(string | number)[]];
    try {
      const answer = await this.client.evalsha(sha1, ...parts).catch((error: unknown) => {
        // A restarted server has forgotten the script, and loads it again with this call.
        if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return this.client.eval(text, ...parts);
        throw error;
      });
      return (answer ?? []) as number[];
    } catch (error) {
      throw unavailable(error);
    }
  }

  private windowKey(key: string): string {
    return `${this.options.namespace}:limit:${key}`;
  }

  private leaseKey(key: string): string {
    return `${this.options.namespace}:limit-open:${key}`;
  }

  private blockKey(guard: string): string {
    return `${this.options.namespace}:limit-block:${guard}`;
  }
}

/** Slots of a window. */
function spanOf({ lengthMs, slotMs }: LimitWindow): number {
  return lengthMs / slotMs;
}

/** From the six numbers of a window, as the script returns them. */
function stateOf(numbers: number[], nowMs: number, window: LimitWindow): WindowState {
  const [requests = 0, tokens = 0, lacking = 0, waitMs = 0, oldest = -1, oldestTokens = -1] = numbers;
  const leaves = (slot: number) => (slot < 0 ? 0 : Math.max(0, (slot + spanOf(window) + 1) * window.slotMs - nowMs));
  return {
    requests,
    tokens,
    lacking: ([null, 'requests', 'tokens'] as const)[lacking] ?? null,
    waitMs,
    requestsResetMs: leaves(oldest),
    tokensResetMs: leaves(oldestTokens),
  };
}

async function untilReady(client: Redis): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(unavailable(null)), startTimeoutMs);
      client.once('ready', resolve);
      // A refused first attempt is not final: the client keeps trying until the time is over.
      client.connect().catch(() => undefined);
    });
  } catch (error) {
    client.disconnect();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(cause: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot check rate limits right now.', null, { cause });
}
