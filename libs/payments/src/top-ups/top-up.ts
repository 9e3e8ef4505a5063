import type { NanoUsd } from '#common';

export type TopUpState = 'authorized' | 'pending' | 'settled' | 'expired' | 'failed';

/** The row of a payment, as responses and operators see it. */
export interface TopUp {
  id: string;
  network: string;
  /** Null after its account was erased. */
  payer: string | null;
  state: TopUpState;
  amountNano: NanoUsd;
  /** What the ledger holds of it. */
  postedNano: NanoUsd;
  accountId: string | null;
  transaction: string | null;
  /** Free USD of the account right after the credit; null before, and a day after the response was stored. */
  balanceNano: NanoUsd | null;
  /** Why it failed: a word of the protocol or of this project, and a sentence. */
  reason: string | null;
  message: string | null;
  /** Calls of `settle` that began. */
  settles: number;
  createdAt: Date;
  validUntil: Date;
  endedAt: Date | null;
  /** When ops looks at it again; null: never. */
  nextLookAt: Date | null;
}

/** What its repeats are compared with. */
export interface StoredTopUp extends TopUp {
  payloadHash: Buffer;
  fingerprint: Buffer;
  /** The response as the first request got it. */
  answer: Buffer | null;
}

/** Reason of a payment that no facilitator could verify in time; nothing was sent. */
export const facilitatorUnavailable = 'facilitator_unavailable';
