import type { JobUsage, NanoUsd } from '#common';
import type { ModelPrice } from './model-price.js';

/** What a reservation needs to know about its job. */
export interface ReservableJob {
  requestId: string;
  accountId: string;
  apiKeyId: string;
  modelId: string;
}

/** Spendable balance of a caller when the request arrived. */
export interface BalanceBefore {
  diemNano: NanoUsd;
  /** Bundled credits and USD together. */
  usdNano: NanoUsd;
}

/** The worst case of a request, passed to admission; the reservation records its findings on it. */
export class JobQuote {
  /** Set once the reservation was made or refused. */
  balanceBefore: BalanceBefore | null = null;

  constructor(
    readonly amountNano: NanoUsd,
    readonly price: ModelPrice,
    /** The usage that costs this at most; a job that reports more is refused. */
    readonly bounds: Readonly<Pick<JobUsage, 'promptTokens' | 'completionTokens' | 'units'>>,
  ) {}

  /** DIEM in the reservation, which pay first; the rest of a charge is bundled credits and USD. */
  get heldDiemNano(): NanoUsd {
    const { diemNano } = this.balanceBefore ?? { diemNano: 0n };
    return diemNano < this.amountNano ? diemNano : this.amountNano;
  }
}

export type RefusedResult = 'insufficient_balance' | 'key_usd_limit' | 'key_diem_limit';
