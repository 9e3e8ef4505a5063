import { JobQuote, type ModelPrice, ReservationRefused } from '#billing';
import type { NanoUsd } from '#common';

/** A payload and its worst-case cost. */
export interface QuotedPayload<Payload extends object> {
  payload: Payload;
  amountNano: NanoUsd;
}

/** A payload that may be made cheaper. */
export interface AffordablePayload<Payload extends object> extends QuotedPayload<Payload> {
  /** The same request for at most `grantableNano`; null where that pays for nothing. Absent: it cannot be made cheaper. */
  shrink?: (grantableNano: NanoUsd) => QuotedPayload<Payload> | null;
}

/** The balance can change between a refusal and the smaller request, so it is tried this often. */
const maxTries = 4;

/**
 * Admits a payload at its worst case or, where the balance or a limit of the key does not cover that, as much of it as
 * they pay for. Calls `onQuote` with every quote after the ledger saw it. Rejects as `admit` does, with the refusal of
 * the ledger when nothing is affordable.
 */
export async function admitAffordable<Payload extends object>(
  { payload, amountNano, shrink }: AffordablePayload<Payload>,
  price: ModelPrice,
  admit: (payload: Payload, quote: JobQuote) => Promise<unknown>,
  onQuote: (quote: JobQuote) => void,
): Promise<JobQuote> {
  let tried: QuotedPayload<Payload> = { payload, amountNano };
  for (let left = maxTries; ; left -= 1) {
    const quote = new JobQuote(tried.amountNano, price);
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
