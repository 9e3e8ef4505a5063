import { JobQuote, type ModelPrice, ReservationRefused } from '#billing';
import type { OpenRequest } from '#jobs';
import type { ChatJobPayload } from '../contract/chat.job.js';
import { type ChatTariff, clampChat, quoteChat } from '../contract/chat.meter.js';

export interface ChatAdmission {
  request: Omit<OpenRequest, 'payload' | 'quote'>;
  payload: ChatJobPayload;
  tariff: ChatTariff;
  price: ModelPrice;
}

/** Others spend from the same balance between a refusal and the smaller request; this often it is worth another try. */
const tries = 4;

/**
 * Admits a chat at its worst case; where the balance or the key's limit does not cover that, with as much output as
 * they pay for, one token per choice at least. Every quote is given to `onQuote`, with what the ledger said of it.
 * Rejects as `admit` does, with the ledger's refusal when nothing can be afforded.
 */
export async function admitAffordable(
  { request, payload, tariff, price }: ChatAdmission,
  admit: (request: OpenRequest) => Promise<unknown>,
  onQuote: (quote: JobQuote) => void,
): Promise<void> {
  let affordable = payload;
  for (let left = tries; ; left -= 1) {
    const quote = new JobQuote(quoteChat(affordable, tariff).amountNanoUsd, price);
    try {
      await admit({ ...request, payload: affordable, quote });
      return;
    } catch (error) {
      if (!(error instanceof ReservationRefused) || left === 1) throw error;
      const smaller = clampChat(payload, tariff, error.grantableNano);
      if (smaller === null) throw error;
      affordable = smaller;
    } finally {
      onQuote(quote);
    }
  }
}
