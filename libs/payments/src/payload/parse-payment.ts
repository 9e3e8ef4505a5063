import type { Offer, PaymentOffers } from '../offers.js';
import { nanosOfUnits } from '../offers.js';
import { readEvmAuthorization } from './evm-authorization.js';
import { assertSame, type Fields, invalidPayment, objectOf, optionalObject, textOf } from './payload-fields.js';
import type { ParsedPayment } from './payment.js';
import { readSolanaTransaction } from './solana-transaction.js';

/** Longest header, in characters. */
const maxHeader = 12_288;
const base64 = { pattern: /^[A-Za-z0-9+/_-]+={0,2}$/, max: maxHeader, expected: 'base64 of at most 12,288 characters' };
const identifier = { pattern: /^[A-Za-z0-9_-]{16,128}$/, max: 128, expected: '16 to 128 letters, digits, - or _' };

/** How far in the future an authorization may end, in ms: it is watched until then. */
const maxValidMs = 86_400_000;
/** How far the clocks of payer, chain and api may be apart, in ms. */
const skewMs = 60_000;

/**
 * Reads a payment header: base64 of the JSON of either protocol version. Payloads of the second version name what they
 * accepted in `accepted`; those of the first have `scheme` and `network`. Throws `X402_INVALID_PAYMENT`, naming the field.
 */
export function parsePayment(header: string, offers: PaymentOffers, nowMs: number): ParsedPayment {
  const fields = decodeHeader(header);
  if (fields.x402Version !== 1 && fields.x402Version !== 2) throw invalidPayment('x402Version', 'must be 1 or 2.');
  const accepted = optionalObject(fields.accepted, 'accepted');
  const offer = accepted === null ? offerOfFirstVersion(fields, offers) : offerOf(accepted, offers);
  const payload = objectOf(fields.payload, 'payload');
  const authorization =
    offer.kind === 'evm' ? readEvmAuthorization(payload, offer) : readSolanaTransaction(payload, offer, nowMs);
  return { kind: offer.kind, terms: offer.terms, authorization, identifier: identifierOf(fields) };
}

/**
 * Refuses a payment that must not be executed: of too little or too much, or outside its time. Throws
 * `X402_INVALID_PAYMENT`.
 */
export function assertPayable({ kind, authorization }: ParsedPayment, offers: PaymentOffers, nowMs: number): void {
  const { amount, validAfterMs, validUntilMs } = authorization;
  const field = (name: string) => (kind === 'evm' ? `payload.authorization.${name}` : 'payload.transaction');
  const paid = nanosOfUnits(amount);
  if (paid < offers.minNano || paid > offers.maxNano) {
    throw invalidPayment(field('value'), `must be ${offers.range}: top-ups are ${offers.range}, in units of 0.000001.`);
  }
  if (validUntilMs <= nowMs) throw invalidPayment(field('validBefore'), 'is in the past.');
  if (validUntilMs > nowMs + maxValidMs) throw invalidPayment(field('validBefore'), 'is more than a day away.');
  if (validAfterMs > nowMs + skewMs) throw invalidPayment(field('validAfter'), 'is in the future.');
}

function decodeHeader(header: string): Fields {
  const text = Buffer.from(textOf(header, 'The payment header', base64), 'base64').toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidPayment('The payment header', 'must be base64 of a JSON object.');
  }
  return objectOf(value, 'The payment header');
}

function offerOf(accepted: Fields, offers: PaymentOffers): Offer {
  assertScheme(accepted.scheme, 'accepted.scheme');
  const offer = findOffer(accepted.network, 'accepted.network', offers);
  const { kind, terms } = offer;
  const anyCase = kind === 'evm';
  assertSame(accepted.asset, { field: 'accepted.asset', expected: terms.asset, anyCase });
  assertSame(accepted.payTo, { field: 'accepted.payTo', expected: terms.payTo, anyCase });
  // Clients may add members to `extra`; those of the offer decide what is signed.
  const extra = optionalObject(accepted.extra, 'accepted.extra') ?? {};
  for (const [name, expected] of Object.entries(terms.extra)) {
    const value = Object.hasOwn(extra, name) ? extra[name] : undefined;
    assertSame(value, { field: `accepted.extra.${name}`, expected });
  }
  return offer;
}

function offerOfFirstVersion(fields: Fields, offers: PaymentOffers): Offer {
  assertScheme(fields.scheme, 'scheme');
  return findOffer(fields.network, 'network', offers);
}

function assertScheme(value: unknown, field: string): void {
  if (value !== 'exact') throw invalidPayment(field, 'must be "exact".');
}

function findOffer(network: unknown, field: string, offers: PaymentOffers): Offer {
  const offer = typeof network === 'string' && network.length <= 64 ? offers.find(network) : null;
  if (offer !== null) return offer;
  const names = offers.offers.map(({ terms }) => terms.network).join(' or ');
  throw invalidPayment(field, `must be ${names}.`);
}

function identifierOf(fields: Fields): string | null {
  const extensions = optionalObject(fields.extensions, 'extensions') ?? {};
  const name = 'payment-identifier';
  const field = `extensions.${name}`;
  const extension = optionalObject(Object.hasOwn(extensions, name) ? extensions[name] : null, field);
  const info = optionalObject(extension?.info, `${field}.info`);
  if (info?.id === undefined || info.id === null) return null;
  return textOf(info.id, `${field}.info.id`, identifier);
}
