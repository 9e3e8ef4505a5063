import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type JobQuote, ReservationRefused } from '#billing';
import type { RpcNetwork } from '#chains';
import { newRequestId } from '#common';
import { DirectJobs } from '#jobs';
import { ApiConfig } from '#platform/config';
import type { RequestCaller } from '#platform/http';
import { Logger } from '#platform/logging';
import { advanceMs } from '#rate-limit';
import { quoteOf } from '../pipeline/direct-requests.js';
import { CreditBlock, type BlockTicket } from './credit-block.js';
import { type LimitDemand, LimitRefusal, type LimitUse, RpcLimits } from './rpc-limits.js';

/** A request that is about to call a node. */
export interface BlockDemand {
  requestId: string;
  caller: RequestCaller;
  network: RpcNetwork;
  /** The most that it may cost. */
  credits: number;
}

/** The money of a request cannot be reserved. */
export class BlockRefused extends Error {
  override readonly name = 'BlockRefused';

  constructor(
    readonly error: ReservationRefused,
    readonly quote: JobQuote,
  ) {
    super(error.message, { cause: error });
  }
}

/** The blocks of one key on one network. */
interface Pool {
  key: string;
  accountId: string;
  current: CreditBlock | null;
  /** Settles when the block that is being opened is the current one, or has failed. */
  opening: Promise<void> | null;
  openedAtMs: number;
  /** What requests that wait for a block need. */
  waiting: LimitUse;
  /** The time before which no block is opened ahead, because the last attempt was refused. */
  aheadFromMs: number;
}

/** The largest block. At the default price it costs 7 cents. */
const maxSize: LimitUse = { requests: 5_000, credits: 100_000 };
/** A block is twice as large as what requests took from one that was opened less than this long before, in ms. */
const recentMs = 2 * advanceMs;
/** How often charging a block is attempted, 0.2 s apart, until its row is about to expire. */
const chargeAttempts = 300;
/** How long the end of the process may wait for an unavailable database, in ms. */
const maxCloseMs = 5_000;

/**
 * Blocks of credits and requests, one per key and network, so that a call of a node needs no statement. A block is
 * reserved before its requests come: limits and spend limits hold as they do for one request. It gives for a second;
 * then what its answered requests have cost is charged once, and the rest is given back. If the replica dies first,
 * nothing of it is charged: its row expires.
 */
@Injectable()
export class CreditBlocks implements OnApplicationShutdown {
  private readonly pools = new Map<string, Pool>();
  private readonly blocks = new Map<CreditBlock, Pool>();
  private readonly closings = new Map<Promise<void>, string>();
  private chargeAttempts = chargeAttempts;

  constructor(
    private readonly jobs: DirectJobs,
    private readonly limits: RpcLimits,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
  ) {}

  /** Returns a request's share of an open block, or null when `take` must open one. */
  takeNow(demand: BlockDemand): BlockTicket | null {
    const pool = this.poolOf(demand);
    const ticket = pool.current?.take(demand.credits, performance.now()) ?? null;
    if (ticket !== null) this.renewAhead(pool, demand);
    return ticket;
  }

  /** Rejects with `LimitRefusal`, with `BlockRefused`, and as the stores do. */
  async take(demand: BlockDemand): Promise<BlockTicket> {
    for (;;) {
      const ticket = this.takeNow(demand);
      if (ticket !== null) return ticket;
      const pool = this.poolOf(demand);
      if (pool.opening === null) return await this.takeNew(pool, demand);
      await this.awaitOpening(pool, pool.opening, demand);
    }
  }

  /** Charges every block, also one that is being opened ahead. Call it when no request runs any more. */
  async onApplicationShutdown(): Promise<void> {
    this.chargeAttempts = 1;
    const timeout = new Promise((resolve) => setTimeout(resolve, maxCloseMs).unref());
    await Promise.race([this.closeAll(), timeout]);
  }

  private async closeAll(): Promise<void> {
    await Promise.allSettled([...this.pools.values()].flatMap(({ opening }) => opening ?? []));
    for (const block of [...this.blocks.keys()]) this.close(block);
    await Promise.allSettled([...this.closings.keys()]);
  }

  private poolOf({ caller: { apiKeyId, accountId }, network }: BlockDemand): Pool {
    const key = `${apiKeyId} ${network.name}`;
    const known = this.pools.get(key);
    if (known !== undefined) return known;
    const pool: Pool = {
      key,
      accountId,
      current: null,
      opening: null,
      openedAtMs: -Infinity,
      waiting: { requests: 0, credits: 0 },
      aheadFromMs: -Infinity,
    };
    this.pools.set(key, pool);
    return pool;
  }

  /** A failure concerns only the request that opens the block; others try for themselves. */
  private async awaitOpening({ waiting }: Pool, opening: Promise<unknown>, { credits }: BlockDemand): Promise<void> {
    waiting.requests += 1;
    waiting.credits += credits;
    await opening.catch(() => undefined);
    waiting.requests -= 1;
    waiting.credits -= credits;
  }

  /** Opens a block. The request that does so gets its share before all others. */
  private async takeNew(pool: Pool, demand: BlockDemand): Promise<BlockTicket> {
    const tickets: BlockTicket[] = [];
    const opening = this.openOrSmaller(pool, demand).then((block) => {
      const ticket = block.take(demand.credits, performance.now());
      if (ticket !== null) tickets.push(ticket);
      this.replace(pool, block);
    });
    pool.opening = opening.finally(() => (pool.opening = null));
    await pool.opening;
    // Without a ticket, opening took longer than a block lives.
    return tickets[0] ?? (await this.take(demand));
  }

  /**
   * When a larger block is refused, or other blocks of the account hold what the request needs, it still gets its own.
   */
  private async openOrSmaller(pool: Pool, demand: BlockDemand): Promise<CreditBlock> {
    const exact = { requests: 1, credits: demand.credits };
    const size = this.sizeFor(pool, exact);
    const { accountId } = pool;
    const holds = [...this.blocks.values()].some((other) => other.accountId === accountId);
    const isExact = size.requests === exact.requests && size.credits === exact.credits;
    if (holds || !isExact) {
      try {
        return await this.open(pool, demand, { ...size, isTrial: true });
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await this.closeIdle(accountId);
      }
    }
    return await this.open(pool, demand, { ...exact, isTrial: false });
  }

  /** Opens the next block while the current one still gives. */
  private renewAhead(pool: Pool, demand: BlockDemand): void {
    const nowMs = performance.now();
    const { current } = pool;
    if (current === null || pool.opening !== null || nowMs < pool.aheadFromMs) return;
    // One request is no reason to reserve for others.
    if (current.taken.requests < 2 || !current.isRunningOut(nowMs, advanceMs)) return;
    const ahead = { ...demand, requestId: newRequestId(this.config.site) };
    const size = this.sizeFor(pool, { requests: 1, credits: demand.credits });
    const opening = this.open(pool, ahead, { ...size, isTrial: true }).then(
      (block) => this.replace(pool, block),
      () => void (pool.aheadFromMs = performance.now() + advanceMs),
    );
    pool.opening = opening.finally(() => (pool.opening = null));
  }

  private sizeFor({ current, openedAtMs, waiting }: Pool, use: LimitUse): LimitUse {
    const recent = current !== null && performance.now() - openedAtMs < recentMs ? current.taken : noUse;
    const sizeOf = (kind: keyof LimitUse): number =>
      Math.max(use[kind], Math.min(maxSize[kind], Math.max(2 * recent[kind], use[kind] + waiting[kind])));
    return { requests: sizeOf('requests'), credits: sizeOf('credits') };
  }

  private async open(pool: Pool, demand: BlockDemand, size: LimitDemand): Promise<CreditBlock> {
    const startMs = performance.now();
    const limits = await this.limits.take(demand.caller, size);
    const prices = { credit: Number(this.config.rpcCreditPriceUsd) };
    const quote = quoteOf({ id: serviceOf(demand.network), prices, maxUnits: size.credits });
    const { requestId, caller } = demand;
    const jobSpec = { requestId, caller, modelId: quote.price.modelId, bounds: quote.bounds, quote };
    const reservation = await this.jobs.reserve(jobSpec).catch(async (error: unknown) => {
      await limits.settle({ requests: size.isTrial ? 0 : 1, credits: 0 });
      throw error instanceof ReservationRefused ? new BlockRefused(error, quote) : error;
    });
    const block = new CreditBlock({ size, limits, reservation, quote }, startMs + advanceMs, (idle) =>
      this.close(idle),
    );
    this.blocks.set(block, pool);
    setTimeout(() => block.retire(), Math.max(0, startMs + advanceMs - performance.now())).unref();
    return block;
  }

  private replace(pool: Pool, block: CreditBlock): void {
    pool.current?.retire();
    pool.current = block;
    pool.openedAtMs = performance.now();
  }

  /** Charges the blocks of an account that no request uses, so that what they hold can be reserved again. */
  private async closeIdle(accountId: string): Promise<void> {
    for (const [block, pool] of this.blocks) if (pool.accountId === accountId) block.retire();
    const ofAccount = [...this.closings].filter(([, account]) => account === accountId);
    await Promise.allSettled(ofAccount.map(([closing]) => closing));
  }

  private close(block: CreditBlock): void {
    const pool = this.blocks.get(block);
    if (pool === undefined) return;
    this.blocks.delete(block);
    const closing = block.close(this.chargeAttempts).catch((error: unknown) => {
      this.logger.error({ error, accountId: pool.accountId }, 'calls of RPC nodes could not be charged');
    });
    this.closings.set(closing, pool.accountId);
    void closing.finally(() => {
      this.closings.delete(closing);
      this.forget(block, pool);
    });
  }

  /** A pool with a newer block stays. */
  private forget(block: CreditBlock, pool: Pool): void {
    if (pool.current === block && pool.opening === null) this.pools.delete(pool.key);
  }
}

const noUse: LimitUse = { requests: 0, credits: 0 };

/** The name that charges use. */
export function serviceOf({ name }: RpcNetwork): string {
  return `crypto-rpc-${name}`;
}

function isRefusal(error: unknown): boolean {
  return error instanceof LimitRefusal || error instanceof BlockRefused;
}
