import { createHash } from 'node:crypto';
import { recoverAddress } from '../host-identity.js';
import { parseSignedText } from '../signed-text.js';
import { type ClaimResult, proven, refuted } from './claim.js';

/** The response of `GET /tee/signature`, of which nothing is trusted. */
export interface SignatureResponse {
  readonly text?: unknown;
  readonly signature?: unknown;
  readonly signing_address?: unknown;
  readonly receipt?: unknown;
}

/** A request of the caller and its response, byte for byte, without any content coding. */
export interface Exchange {
  readonly requestBody: Uint8Array;
  readonly responseBody: Uint8Array;
  /** Of the attested key. */
  readonly address: string;
}

/** Checks that the attested key signed these bytes. */
export function verifyExchange({ text, signature }: SignatureResponse, exchange: Exchange): ClaimResult {
  const signed = typeof text === 'string' ? parseSignedText(text) : null;
  if (signed === null || typeof text !== 'string') return refuted('exchange', 'What came as a signed text is none.');
  if (typeof signature !== 'string' || recoverAddress(text, signature) !== exchange.address) {
    return refuted('exchange', 'The signature is not of the attested key.');
  }
  if (signed.requestHash !== sha256(exchange.requestBody)) {
    return refuted('exchange', 'The signature is about another request: a hop may have changed its bytes.');
  }
  if (signed.responseHash !== sha256(exchange.responseBody)) {
    return refuted('exchange', 'The signature is about another response: a hop may have changed its bytes.');
  }
  return proven('exchange', 'The key signed the bytes that were sent and those that came back.');
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
