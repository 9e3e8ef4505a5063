import { JobQuote, type ModelPrice, ReservationRefused } from '#billing';
import type { NanoUsd } from '#common';
import type { UsageBounds } from '#queue';

/** A payload, the most it can use, and what that costs. */
export interface QuotedPayload<Payload extends object> {
  payload: Payload;
  bounds: UsageBounds;
  amountNano: NanoUsd;
}

/** A payload that may be made cheaper. */
export interface AffordablePayload<Payload extends object> extends QuotedPayload<Payload> {
  /** The same request for at most `grantableNano`; null if that pays for nothing. Absent: it cannot be made cheaper. */
  shrink?: (grantableNano: NanoUsd) => QuotedPayload<Payload> | null;
}

/** The balance can change between a refusal and the smaller request, so admission is tried this often. */
const maxTries = 4;

/**
 * Admits a payload at its worst case or, if the balance or a limit of the key does not cover that, as much of it as
 * they cover. Calls `onQuote` with every quote after the ledger saw it. Rejects as `admit` does, with the ledger's
 * refusal if nothing is affordable.
 */
export async function admitAffordable<Payload extends object>(
  { payload, bounds, amountNano, shrink }: AffordablePayload<Payload>,
  price: ModelPrice,
  admit: (payload: Payload, quote: JobQuote) => Promise<unknown>,
  onQuote: (quote: JobQuote) => void,
): Promise<JobQuote> {
  let tried: QuotedPayload<Payload> = { payload, bounds, amountNano };
  for (let left = maxTries; ; left -= 1) {
    const quote = new JobQuote(tried.amountNano, price, tried.bounds);
    try {
      await admit(tried.payload, quote);
      return quote;
    } catch (error) {
      if (!(error instanceof ReservationRefused) || left === 1) throw error;
      const smaller = shrink?.(error.grantableNano) ?? null;
      if (smaller === null) throw error;
      tried = smaller;
    } finally {
      onQuote(quote);
    }
  }
}
