import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { Facilitator, OnChain, PaymentChain, Settlement, Verification } from '../facilitator/facilitator.js';
import { facilitatorUnavailable } from '../top-ups/top-up.js';
import type { PaymentMetrics } from './payment.metrics.js';
import type { ClaimedTopUp, EndedBecause, TopUpExecutionRepository } from './top-up-execution.repository.js';

/** What settles payments of a network, and what says whether they are on its chain. */
export interface PaymentNode {
  facilitator: Facilitator;
  chain: PaymentChain;
}

export interface PaymentExecutorOptions {
  topUps: TopUpExecutionRepository;
  /** By network. */
  nodes: ReadonlyMap<string, PaymentNode>;
  logger: Logger;
  metrics: Pick<PaymentMetrics, 'ended' | 'unknown'>;
  limits?: Partial<ExecutionLimits>;
  clock?: Pick<Clock, 'nowMs'>;
}

/** Times in ms. */
export interface ExecutionLimits {
  /** Longest call of `verify` and of `lookUp`. */
  callMs: number;
  settleMs: number;
  /** Renewed while a payment is looked at; when its process dies, another one takes it after this time. */
  leaseMs: number;
  /** After this time and three tries, a payment that could not be verified is given up. */
  unverifiedMs: number;
  /** How far the chain's time must be past an authorization before it counts as ended. */
  marginMs: number;
  /** Pause between looks at a payment that is a minute old, ten minutes, and older. */
  paceMs: readonly [number, number, number];
  /** Looks in a row that must miss a credited transfer before it is taken back. */
  reversalLooks: number;
}

const defaults: ExecutionLimits = {
  callMs: 10_000,
  settleMs: 25_000,
  leaseMs: 15_000,
  unverifiedMs: 12_000,
  marginMs: 60_000,
  paceMs: [1_000, 5_000, 30_000],
  reversalLooks: 3,
};

/** Calls of `settle` for one payment; the second only where the process of the first died. */
const maxSettles = 2;
/** Rows that one process works on at once. */
const rowsAtOnce = 16;
const minuteMs = 60_000;

/**
 * Takes payments from row to row state. Each step can end anywhere, with its process too: the row is written before what
 * cannot be undone, and the chain is asked what happened. No word of a facilitator credits anything.
 */
export class PaymentExecutor {
  private readonly limits: ExecutionLimits;
  private readonly clock: Pick<Clock, 'nowMs'>;
  private readonly looking = new Set<Promise<void>>();

  constructor(private readonly options: PaymentExecutorOptions) {
    this.limits = { ...defaults, ...options.limits };
    this.clock = options.clock ?? systemClock;
  }

  /**
   * Begins to look at payments that are due, as many as there is room for; resolves to their number. Rejects if they
   * could not be read. A slow facilitator does not hold up other payments.
   */
  async begin(signal: AbortSignal): Promise<number> {
    const rows = rowsAtOnce - this.looking.size;
    if (rows === 0) return 0;
    const networks = [...this.options.nodes.keys()];
    const claimed = await this.options.topUps.claim({ networks, rows, leaseMs: this.limits.leaseMs });
    for (const topUp of claimed) {
      const look: Promise<void> = this.look(topUp, signal).finally(() => this.looking.delete(look));
      this.looking.add(look);
    }
    return claimed.length;
  }

  /** Resolves when no payment is looked at. */
  async idle(): Promise<void> {
    await Promise.all(this.looking);
  }

  /** What fails here is looked at again when the lease has ended, or sooner. */
  private async look(topUp: ClaimedTopUp, signal: AbortSignal): Promise<void> {
    const { logger, topUps } = this.options;
    const { leaseMs } = this.limits;
    // What cannot be renewed ends, and another process goes on: every step may happen twice.
    const renewal = setInterval(() => void topUps.renew(topUp, leaseMs).catch(() => undefined), leaseMs / 3);
    try {
      await this.step(topUp, signal);
    } catch (error) {
      this.options.metrics.unknown(topUp.network);
      logger.warn(
        { error, topUp: topUp.id, network: topUp.network },
        'a top-up could not be advanced, it will be tried again',
      );
      await topUps.release(topUp, this.pauseOf(topUp)).catch(() => undefined);
    } finally {
      clearInterval(renewal);
    }
  }

  private step(topUp: ClaimedTopUp, signal: AbortSignal): Promise<void> {
    if (topUp.state === 'authorized') return this.execute(topUp, signal);
    if (topUp.state === 'pending') return this.reconcile(topUp, signal);
    return topUp.state === 'settled' ? this.confirm(topUp, signal) : this.watch(topUp, signal);
  }

  /** Verifies and settles a payment that was not sent. */
  private async execute(topUp: ClaimedTopUp, signal: AbortSignal): Promise<void> {
    if (topUp.validUntilMs <= this.clock.nowMs()) return this.reconcile(topUp, signal);
    let verification: Verification;
    try {
      verification = await this.nodeOf(topUp).facilitator.verify(
        topUp.payment,
        this.within(this.limits.callMs, signal),
      );
    } catch (error) {
      return this.unverified(topUp, error, signal);
    }
    if (!verification.valid) return this.refuse(topUp, verification, signal);
    if (!isSamePayer(verification.payer, topUp.payer)) {
      const message = 'The payment is not signed by the wallet that it names.';
      return this.refuse(topUp, { reason: 'invalid_payer', message }, signal);
    }
    await this.settle(topUp, signal);
  }

  /** Nothing was sent. Without a facilitator, nothing will be, and the client may pay again. */
  private async unverified(topUp: ClaimedTopUp, error: unknown, signal: AbortSignal): Promise<void> {
    const { looks, ageMs } = topUp;
    if (signal.aborted || looks < 3 || ageMs < this.limits.unverifiedMs) throw error;
    this.options.logger.error({ error, topUp: topUp.id }, 'a top-up could not be verified and is given up');
    const message = 'The payment could not be verified, because the facilitator does not work. Nothing was paid.';
    await this.refuse(topUp, { reason: facilitatorUnavailable, message }, signal);
  }

  /**
   * A payment that is not sent. Another sender may have sent it, which the chain says; until the authorization has ended,
   * they still may.
   */
  private async refuse(topUp: ClaimedTopUp, because: EndedBecause, signal: AbortSignal): Promise<void> {
    const found = await this.lookUp(topUp, signal).catch(() => null);
    if (found?.state === 'settled') return this.credit(topUp, found.transaction);
    await this.fail(topUp, because, found?.state !== 'void');
  }

  /** The row says that the payment may have been sent before it is. */
  private async settle(topUp: ClaimedTopUp, signal: AbortSignal): Promise<void> {
    const { topUps, logger } = this.options;
    if (!(await topUps.beginSettling(topUp))) return;
    const begun: ClaimedTopUp = { ...topUp, state: 'pending', settles: topUp.settles + 1, isSettling: false };
    let settlement: Settlement;
    try {
      // Not ended with the process: what is being sent may as well be known.
      const deadline = AbortSignal.timeout(this.limits.settleMs);
      settlement = await this.nodeOf(topUp).facilitator.settle(topUp.payment, deadline);
    } catch (error) {
      logger.warn({ error, topUp: topUp.id }, 'the outcome of a settlement is unknown, the chain will tell');
      settlement = { outcome: 'pending', transaction: null };
    }
    const transaction = settlement.outcome === 'failed' ? null : settlement.transaction;
    await topUps.endSettling(topUp, transaction);
    const failure = settlement.outcome === 'failed' ? settlement : null;
    await this.reconcile({ ...begun, transaction: transaction ?? topUp.transaction }, signal, failure);
  }

  /** Asks the chain what became of a payment. Only its answer ends one that may have been sent. */
  private async reconcile(
    topUp: ClaimedTopUp,
    signal: AbortSignal,
    failure: EndedBecause | null = null,
  ): Promise<void> {
    const found = await this.lookUp(topUp, signal);
    if (found.state === 'settled') return this.credit(topUp, found.transaction);
    if (found.state === 'void') return this.fail(topUp, { reason: 'payment_void', message: found.message }, false);
    if (failure !== null) return this.fail(topUp, failure, true);
    if (this.hasEnded(topUp, found)) return this.expire(topUp);
    if (topUp.state === 'pending' && this.isLostCall(topUp)) return this.settle(topUp, signal);
    await this.options.topUps.release(topUp, this.pauseOf(topUp));
  }

  /** The process that called `settle` died, and the chain knows nothing of the payment: it may never have been sent. */
  private isLostCall({ isSettling, transaction, settles, validUntilMs }: ClaimedTopUp): boolean {
    return (
      isSettling &&
      transaction === null &&
      settles < maxSettles &&
      validUntilMs > this.clock.nowMs() + this.limits.callMs
    );
  }

  /** Whether a credited transfer is still on the chain. A single node that lags behind takes nothing back. */
  private async confirm(topUp: ClaimedTopUp, signal: AbortSignal): Promise<void> {
    const { topUps, logger } = this.options;
    const found = await this.lookUp(topUp, signal);
    if (found.state === 'settled') return topUps.release(topUp, confirmationPause(topUp.ageMs), { isNews: true });
    if (topUp.looks < this.limits.reversalLooks) return topUps.release(topUp, this.limits.paceMs[1]);
    const taken = await topUps.reverse(topUp);
    this.options.metrics.ended(topUp.network, 'reversed');
    logger.error(
      { topUp: topUp.id, takenNano: String(taken) },
      'a credited top-up is no longer on the chain: its credit was taken back',
    );
  }

  /** A failed payment whose authorization was still valid: another sender may have used it. */
  private async watch(topUp: ClaimedTopUp, signal: AbortSignal): Promise<void> {
    const found = await this.lookUp(topUp, signal);
    if (found.state === 'settled') return this.credit(topUp, found.transaction);
    const isOver = found.state === 'void' || this.hasEnded(topUp, found);
    await this.options.topUps.release(topUp, isOver ? null : this.limits.paceMs[2]);
  }

  private hasEnded({ validUntilMs }: ClaimedTopUp, found: OnChain): boolean {
    return found.state === 'unused' && found.chainTimeMs > validUntilMs + this.limits.marginMs;
  }

  private async credit(topUp: ClaimedTopUp, transaction: string): Promise<void> {
    const result = await this.options.topUps.settle(topUp, transaction);
    if (result === 'settled') this.options.metrics.ended(topUp.network, 'settled');
  }

  private async fail(topUp: ClaimedTopUp, because: EndedBecause, isWatched: boolean): Promise<void> {
    const { reason, message } = because;
    if (
      !(await this.options.topUps.fail(
        topUp,
        { reason: reason.slice(0, 128), message: message.slice(0, 512) },
        isWatched,
      ))
    )
      return;
    this.options.metrics.ended(topUp.network, 'failed');
  }

  private async expire(topUp: ClaimedTopUp): Promise<void> {
    if (await this.options.topUps.expire(topUp)) this.options.metrics.ended(topUp.network, 'expired');
  }

  private lookUp(topUp: ClaimedTopUp, signal: AbortSignal): Promise<OnChain> {
    return this.nodeOf(topUp).chain.lookUp(topUp.payment, this.within(this.limits.callMs, signal));
  }

  private nodeOf({ network }: ClaimedTopUp): PaymentNode {
    const node = this.options.nodes.get(network);
    if (node === undefined) throw new Error(`There is no node of ${network}.`);
    return node;
  }

  private within(ms: number, signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  }

  private pauseOf({ ageMs }: ClaimedTopUp): number {
    const [soon, later, seldom] = this.limits.paceMs;
    return ageMs < minuteMs ? soon : ageMs < 10 * minuteMs ? later : seldom;
  }
}

/** A credit is looked at for 20 minutes; null: no more. */
function confirmationPause(ageMs: number): number | null {
  if (ageMs < minuteMs) return 15_000;
  if (ageMs < 5 * minuteMs) return minuteMs;
  return ageMs < 20 * minuteMs ? 5 * minuteMs : null;
}

/** Hexadecimal addresses may have capital letters. */
function isSamePayer(one: string, other: string): boolean {
  return one === other || (one.startsWith('0x') && one.toLowerCase() === other);
}
