import type { JobQuote } from '#billing';
import type { ErrorCode } from '#common';
import type { DirectReservation } from '#jobs';
import type { LimitDecision } from '#rate-limit';
import type { LimitUse, TakenLimits } from './rpc-limits.js';

/** The money and limits of a block, for the requests of a key to a network. */
export interface BlockContents {
  size: LimitUse;
  limits: TakenLimits;
  reservation: DirectReservation;
  quote: JobQuote;
}

/** One request's share of a block. */
export interface BlockTicket {
  /** The price of its credits, and the balance before the request. */
  quote: Pick<JobQuote, 'balanceBefore' | 'price'>;
  decision: LimitDecision;
  /** Charges what the request has cost, 0 if it was not answered; only the first call counts. */
  settle(credits: number, errorCode?: ErrorCode): void;
}

/** Credits and requests that a replica has reserved ahead. The sum of what its requests have cost is charged once. */
export class CreditBlock {
  /** Credits that were handed out to requests. */
  readonly taken: LimitUse = { requests: 0, credits: 0 };
  private usedCredits = 0;
  private open = 0;
  private isRetired = false;
  private lastFailure: ErrorCode = 'JOB_CANCELLED';

  /** `onIdle` is called when the block gives nothing more and none of its requests runs. */
  constructor(
    readonly contents: BlockContents,
    private readonly endsAtMs: number,
    private readonly onIdle: (block: CreditBlock) => void,
  ) {}

  /** True when the block is about to end, or little is left of it. */
  isRunningOut(nowMs: number, lifeMs: number): boolean {
    const { size, limits } = this.contents;
    const isOld = this.endsAtMs - nowMs < lifeMs / 4;
    return isOld || this.left < size.credits / 4 || limits.requests - this.taken.requests < limits.requests / 4;
  }

  /** Returns null when the block has too little left, or has ended. */
  take(credits: number, nowMs: number): BlockTicket | null {
    const { limits, quote } = this.contents;
    const hasEnded = this.isRetired || nowMs >= this.endsAtMs;
    if (hasEnded || this.left < credits || this.taken.requests >= limits.requests) return null;
    const balanceBefore = this.balanceBefore();
    this.taken.credits += credits;
    this.taken.requests += 1;
    this.open += 1;
    let isOpen = true;
    return {
      quote: { balanceBefore, price: quote.price },
      decision: limits.decision(limits.requests - this.taken.requests),
      settle: (used, errorCode) => {
        if (!isOpen) return;
        isOpen = false;
        this.settle(credits, used, errorCode);
      },
    };
  }

  /** Ends the block: it gives nothing more. */
  retire(): void {
    if (this.isRetired) return;
    this.isRetired = true;
    if (this.open === 0) this.onIdle(this);
  }

  /** Charges the block and gives back the rest. Rejects if the charge could not be written in so many attempts. */
  async close(attempts: number): Promise<void> {
    this.isRetired = true;
    const { limits, reservation } = this.contents;
    const used = { requests: this.taken.requests, credits: this.usedCredits };
    const charge =
      used.credits > 0 ? reservation.charge({ credit: used.credits }, attempts) : reservation.release(this.lastFailure);
    await Promise.all([charge, limits.settle(used)]);
  }

  private get left(): number {
    return this.contents.size.credits - this.taken.credits;
  }

  private settle(taken: number, used: number, errorCode?: ErrorCode): void {
    this.usedCredits += used;
    this.taken.credits -= taken - used;
    this.open -= 1;
    if (errorCode !== undefined) this.lastFailure = errorCode;
    if (this.isRetired && this.open === 0) this.onIdle(this);
  }

  /** Returns what could be spent before the block, less what its requests have cost; DIEM pay first. */
  private balanceBefore(): JobQuote['balanceBefore'] {
    const { balanceBefore: before, amountNano } = this.contents.quote;
    if (before === null) return null;
    const spent = (amountNano / BigInt(this.contents.size.credits)) * BigInt(this.usedCredits);
    const diem = spent < before.diemNano ? spent : before.diemNano;
    return { diemNano: before.diemNano - diem, usdNano: before.usdNano - (spent - diem) };
  }
}
