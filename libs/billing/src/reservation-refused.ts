import { type ErrorCode, formatNanos, type NanoUsd, PlatformError } from '#common';
import type { RefusedResult } from './job-quote.js';

/** The limits of a key and what counts against them in the current period. */
export interface KeyStanding {
  limitUsdNano: NanoUsd | null;
  limitDiemNano: NanoUsd | null;
  /** Charged or reserved. */
  usedUsdNano: NanoUsd;
  usedDiemNano: NanoUsd;
  limitPeriod: 'EPOCH' | 'MONTH' | 'LIFETIME';
  /** When the period ends; null: never. */
  resetsAt: Date | null;
}

export interface Refusal {
  result: RefusedResult;
  /** The worst case of the request. */
  askedNano: NanoUsd;
  /** What could have been reserved. */
  grantableNano: NanoUsd;
  /** Null for a refusal by the balance. */
  key: KeyStanding | null;
}

const codes: Record<RefusedResult, ErrorCode> = {
  insufficient_balance: 'INSUFFICIENT_BALANCE',
  key_usd_limit: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED',
  key_diem_limit: 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED',
};

const periodNames = { EPOCH: 'per UTC day', MONTH: 'per UTC month', LIFETIME: 'in all' } as const;

/** Signals a request that cannot be paid; says how much could be reserved, so that a smaller request can be tried. */
export class ReservationRefused extends PlatformError {
  readonly grantableNano: NanoUsd;

  constructor(refusal: Refusal) {
    super(codes[refusal.result], messageOf(refusal));
    this.grantableNano = refusal.grantableNano;
  }
}

function messageOf({ result, askedNano, grantableNano, key }: Refusal): string {
  const need = `This request needs up to ${formatNanos(askedNano)}`;
  if (result === 'insufficient_balance' || key === null) {
    return `${need} USD or DIEM, and the balance has ${formatNanos(grantableNano)}. Add credit, or ask for less.`;
  }
  const [currency, limit, used] =
    result === 'key_usd_limit'
      ? ['USD', key.limitUsdNano, key.usedUsdNano]
      : ['DIEM', key.limitDiemNano, key.usedDiemNano];
  const renewal = key.resetsAt === null ? 'It does not reset.' : `It resets at ${key.resetsAt.toISOString()}.`;
  return (
    `The spend limit of this API key is ${formatNanos(limit ?? 0n)} ${currency} ${periodNames[key.limitPeriod]}, ` +
    `of which ${formatNanos(used)} is spent or reserved. ${need}. ${renewal}`
  );
}
