import { type ErrorCode, type NanoUsd, PlatformError } from '#common';
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
  ) {}

  /** DIEM in the reservation, which pay first; the rest of a charge is bundled credits and USD. */
  get heldDiemNano(): NanoUsd {
    const { diemNano } = this.balanceBefore ?? { diemNano: 0n };
    return diemNano < this.amountNano ? diemNano : this.amountNano;
  }
}

export type RefusedResult = 'insufficient_balance' | 'key_usd_limit' | 'key_diem_limit';

const refusals: Record<RefusedResult, { code: ErrorCode; message: string }> = {
  insufficient_balance: {
    code: 'INSUFFICIENT_BALANCE',
    message: 'The balance does not cover this request. Add credit, or ask for less.',
  },
  key_usd_limit: {
    code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED',
    message: 'The USD spend limit of this API key does not cover this request.',
  },
  key_diem_limit: {
    code: 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED',
    message: 'The DIEM spend limit of this API key does not cover this request.',
  },
};

/** Signals a request that cannot be paid; says how much could be reserved, so that a smaller request can be tried. */
export class ReservationRefused extends PlatformError {
  constructor(
    result: RefusedResult,
    readonly grantableNano: NanoUsd,
  ) {
    const { code, message } = refusals[result];
    super(code, message);
  }
}
