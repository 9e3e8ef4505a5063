import { createHash } from 'node:crypto';
import type { Offer } from '../offers.js';
import { encodeBase58 } from '#accounts';
import { ByteReader } from './byte-reader.js';
import { type Fields, invalidPayment, textOf } from './payload-fields.js';
import type { Authorization } from './payment.js';

const field = 'payload.transaction';
/** Longest transaction of the network, in bytes. */
const maxBytes = 1_232;
const encoded = { pattern: /^[A-Za-z0-9+/]+={0,2}$/, max: 1_644, expected: 'a transaction in base64' };

const tokenPrograms = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]);
const transferChecked = 12;

/** What a transaction signs, and who has signed it. */
export interface SolanaMessage {
  message: Buffer;
  /** In the order of the first keys. */
  signatures: Buffer[];
  keys: string[];
  instructions: { program: string; accounts: number[]; data: Buffer }[];
}

/** Reads `{transaction}`: the token transfer in it says who pays and how much. */
export function readSolanaTransaction(payload: Fields, { terms }: Offer, nowMs: number): Authorization {
  const text = textOf(payload.transaction, field, encoded);
  const transfer = transferOf(decodeTransaction(text), terms.asset);
  return {
    payer: transfer.payer,
    nonce: createHash('sha256').update(transfer.message).digest('hex'),
    amount: transfer.amount,
    validAfterMs: 0,
    // Its block hash is good for about a minute and a half; the time of the offer is longer.
    validUntilMs: nowMs + terms.maxTimeoutSeconds * 1_000,
    payload: { transaction: text },
  };
}

function transferOf({ instructions, keys, message }: SolanaMessage, asset: string) {
  const transfers = instructions.filter(
    ({ program, data }) => tokenPrograms.has(program) && data[0] === transferChecked,
  );
  const [transfer] = transfers;
  if (transfer === undefined || transfers.length > 1) {
    throw invalidPayment(field, 'must contain one TransferChecked instruction of the token program.');
  }
  const { accounts, data } = transfer;
  const [, mint, , payer] = accounts.map((index) => keys[index]);
  if (data.length !== 10 || payer === undefined) throw invalidPayment(field, 'contains a malformed transfer.');
  if (mint !== asset) throw invalidPayment(field, `must transfer the asset ${asset}.`);
  return { payer, amount: data.readBigUInt64LE(1), message };
}

/** Throws `X402_INVALID_PAYMENT`. Every length is checked against the bytes that are there. */
export function decodeTransaction(base64: string): SolanaMessage {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > maxBytes) throw invalidPayment(field, `is longer than ${maxBytes} bytes.`);
  try {
    return decode(new ByteReader(bytes));
  } catch (error) {
    if (error instanceof RangeError) throw invalidPayment(field, 'is no transaction of this network.');
    throw error;
  }
}

function decode(reader: ByteReader): SolanaMessage {
  const signatures = reader.list(() => reader.take(64));
  const message = reader.rest();
  let version = reader.byte();
  const isVersioned = version >= 0x80;
  if (isVersioned) {
    if (version !== 0x80) throw new RangeError('unknown version');
    version = reader.byte();
  }
  reader.take(2);
  const keys = reader.list(() => encodeBase58(reader.take(32)));
  reader.take(32);
  const instructions = reader.list(() => {
    const program = keys[reader.byte()];
    if (program === undefined) throw new RangeError('unknown program');
    const accounts = reader.list(() => reader.byte());
    return { program, accounts, data: reader.take(reader.length()) };
  });
  return { message, signatures, keys, instructions };
}
