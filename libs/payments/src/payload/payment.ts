import { createHash } from 'node:crypto';
import type { PaymentTerms, SignedPayment } from '../facilitator/facilitator.js';

/** What a payer signed, read from the part of the payload that its network defines. */
export interface Authorization {
  /** EVM: lower case; Solana: base58. */
  payer: string;
  /** EVM: nonce of the authorization; Solana: SHA-256 of the message. */
  nonce: string;
  /** Base units. */
  amount: bigint;
  validAfterMs: number;
  validUntilMs: number;
  payload: Readonly<Record<string, unknown>>;
}

/** A well-formed payment of a client. Whether it can be executed is another question. */
export interface ParsedPayment {
  kind: 'evm' | 'solana';
  terms: PaymentTerms;
  authorization: Authorization;
  /** Payment identifier of the client; null without one. */
  identifier: string | null;
}

export function signedPaymentOf({ terms, authorization }: ParsedPayment): SignedPayment {
  return { terms, amount: authorization.amount, payload: authorization.payload };
}

/** What can be paid once: network, payer and nonce. */
export function paymentKeyOf({ terms, authorization }: ParsedPayment): Buffer {
  return hash([terms.network, authorization.payer, authorization.nonce]);
}

/** The payload with its signature. */
export function payloadHashOf({ terms, authorization }: ParsedPayment): Buffer {
  return hash([terms.network, JSON.stringify(authorization.payload)]);
}

/** What an identifier stands for: everything that a new signature of the same payment leaves as it is. */
export function fingerprintOf({ terms, authorization: { payer, amount } }: ParsedPayment): Buffer {
  return hash(['POST /x402/top-up', terms.network, terms.asset, terms.payTo, payer, String(amount)]);
}

function hash(values: readonly string[]): Buffer {
  return createHash('sha256').update(JSON.stringify(values)).digest();
}
