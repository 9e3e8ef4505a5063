import type { Offer } from '../offers.js';
import { assertSame, type Fields, integerOf, objectOf, textOf } from './payload-fields.js';
import type { Authorization } from './payment.js';

const address = { pattern: /^0x[0-9a-fA-F]{40}$/, max: 42, expected: '0x and 40 hex digits' };
const nonce = { pattern: /^0x[0-9a-fA-F]{64}$/, max: 66, expected: '0x and 64 hex digits' };
/** Signatures of contract wallets are longer than the 65 bytes of others. */
const signature = {
  pattern: /^0x(?:[0-9a-fA-F]{2}){64,}$/,
  max: 8_194,
  expected: '0x and the hex digits of a signature',
};

/** Seconds since 1970 that a date can hold; beyond it, an authorization never ends. */
const latestSeconds = 8_640_000_000_000n;

/** Reads `{signature, authorization}` of EIP-3009. */
export function readEvmAuthorization(payload: Fields, { terms }: Offer): Authorization {
  const signed = textOf(payload.signature, 'payload.signature', signature);
  const field = 'payload.authorization';
  const authorization = objectOf(payload.authorization, field);
  const from = textOf(authorization.from, `${field}.from`, address);
  const to = textOf(authorization.to, `${field}.to`, address);
  assertSame(to, { field: `${field}.to`, expected: terms.payTo, anyCase: true });
  const value = integerOf(authorization.value, `${field}.value`);
  const validAfter = integerOf(authorization.validAfter, `${field}.validAfter`);
  const validBefore = integerOf(authorization.validBefore, `${field}.validBefore`);
  const used = textOf(authorization.nonce, `${field}.nonce`, nonce).toLowerCase();
  const numbers = { value: String(value), validAfter: String(validAfter), validBefore: String(validBefore) };
  return {
    payer: from.toLowerCase(),
    nonce: used,
    amount: value,
    validAfterMs: msOf(validAfter),
    validUntilMs: msOf(validBefore),
    payload: { signature: signed, authorization: { from, to, ...numbers, nonce: used } },
  };
}

function msOf(seconds: bigint): number {
  return Number(seconds < latestSeconds ? seconds : latestSeconds) * 1_000;
}
