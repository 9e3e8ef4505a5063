import type { SignedPayment } from '../facilitator.js';
import { type Refusal, refuse } from '../refusal.js';

export type Hex = `0x${string}`;

/** An EIP-3009 `TransferWithAuthorization`, with addresses and nonce in lower case. */
export interface Authorization {
  readonly from: Hex;
  readonly to: Hex;
  /** Base units. */
  readonly value: bigint;
  /** Seconds since the epoch, exclusive, as are those of `validBefore`. */
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly nonce: Hex;
}

/** What a payer signed, and the signature: 65 bytes of a key, or what the payer's contract understands. */
export interface SignedAuthorization {
  readonly authorization: Authorization;
  readonly signature: Hex;
}

/** Signatures of contracts hold several of keys, and the call that deploys the contract. */
const maxSignatureBytes = 4_096;
const maxUint256 = 2n ** 256n - 1n;

/** Reads `{signature, authorization}` of a payload. Every wrong member gets a sentence that names it. */
export function parseAuthorization(payload: Readonly<Record<string, unknown>>): SignedAuthorization | Refusal {
  const { authorization: fields, signature } = payload;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    return malformed('payload.authorization must be an object.');
  if (!isHex(signature) || signature.length % 2 !== 0 || signature.length > 2 + 2 * maxSignatureBytes)
    return refuse(
      'invalid_exact_evm_failed_to_parse_signature',
      'payload.signature must be a signature in hexadecimal.',
    );
  const read = fields as Record<string, unknown>;
  const [from, to] = [read.from, read.to].map((value) => hexOf(value, 20));
  const nonce = hexOf(read.nonce, 32);
  const [value, validAfter, validBefore] = [read.value, read.validAfter, read.validBefore].map(uintOf);
  if (!from) return malformed('payload.authorization.from must be an address.');
  if (!to) return malformed('payload.authorization.to must be an address.');
  if (!nonce) return malformed('payload.authorization.nonce must be 32 bytes in hexadecimal.');
  if (value === undefined) return malformed('payload.authorization.value must be a whole number in a string.');
  if (validAfter === undefined) return malformed('payload.authorization.validAfter must be seconds in a string.');
  if (validBefore === undefined) return malformed('payload.authorization.validBefore must be seconds in a string.');
  return {
    signature: signature.toLowerCase() as Hex,
    authorization: { from, to, value, validAfter, validBefore, nonce },
  };
}

function malformed(message: string): Refusal {
  return refuse('invalid_payload', message);
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value);
}

function hexOf(value: unknown, bytes: number): Hex | undefined {
  return isHex(value) && value.length === 2 + 2 * bytes ? (value.toLowerCase() as Hex) : undefined;
}

/** Some clients send numbers. */
function uintOf(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  if (typeof value !== 'string' || !/^[0-9]{1,78}$/.test(value)) return undefined;
  const parsed = BigInt(value);
  return parsed <= maxUint256 ? parsed : undefined;
}

/** Whether an authorization pays what was agreed on, to whom. Null: it does. */
export function checkTerms({ from, to, value }: Authorization, { terms, amount }: SignedPayment): Refusal | null {
  if (to !== terms.payTo.toLowerCase())
    return refuse('invalid_exact_evm_recipient_mismatch', `The authorization pays ${to}; expected ${terms.payTo}.`);
  if (from === to) return refuse('invalid_exact_evm_recipient_mismatch', 'The payer and the receiver are the same.');
  if (value !== amount)
    return refuse(
      'invalid_exact_evm_payload_authorization_value_mismatch',
      `The authorization is for ${value} base units; expected ${amount}.`,
    );
  return null;
}

/** What has one transaction: an authorization of a token. */
export function paymentKeyOf({ from, nonce }: Authorization, asset: string): string {
  return `${asset.toLowerCase()} ${from} ${nonce}`;
}
