import { decodeBase58, encodeBase58 } from '../../payload/base58.js';

export interface SolanaInstruction {
  readonly program: string;
  /** Positions in `keys`. */
  readonly accounts: readonly number[];
  readonly data: Buffer;
}

/** A transaction, legacy or of version 0 without lookup tables. */
export interface SolanaTransaction {
  /** One per signer, in the order of `keys`; 64 zeros where one has not signed. */
  readonly signatures: readonly Buffer[];
  /** What is signed. */
  readonly message: Buffer;
  /** The first so many keys sign. */
  readonly signerCount: number;
  /** Base58; the first one pays the fees. */
  readonly keys: readonly string[];
  readonly blockhash: string;
  readonly instructions: readonly SolanaInstruction[];
}

/** Longest transaction of the network, in bytes. */
const maxBytes = 1_232;
const signatureBytes = 64;

/** Returns why the text is no transaction, in words that follow "payload.transaction". */
export function decodeSolanaTransaction(base64: unknown): SolanaTransaction | string {
  if (typeof base64 !== 'string' || base64.length > 2 * maxBytes) return 'must be a transaction in base64.';
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64').replaceAll('=', '') !== base64.replaceAll('=', '')) return 'must be in base64.';
  if (bytes.length > maxBytes) return `is longer than ${maxBytes} bytes.`;
  try {
    return decode(new ByteReader(bytes));
  } catch (error) {
    if (error instanceof RangeError) return `is no transaction that is accepted here: ${error.message}.`;
    throw error;
  }
}

/** The bytes to send, once the fee payer has signed. */
export function withFeePayerSignature({ signatures, message }: SolanaTransaction, signature: Buffer): Buffer {
  return Buffer.concat([Buffer.from([signatures.length]), signature, ...signatures.slice(1), message]);
}

function decode(reader: ByteReader): SolanaTransaction {
  const signatures = reader.list(() => reader.take(signatureBytes));
  const message = reader.rest();
  const first = reader.byte();
  if (first > 0x80) throw new RangeError('its version is unknown');
  const signerCount = first === 0x80 ? reader.byte() : first;
  reader.take(2);
  const keys = reader.list(() => encodeBase58(reader.take(32)));
  const blockhash = encodeBase58(reader.take(32));
  const instructions = reader.list(() => readInstruction(reader, keys));
  if (first === 0x80 && reader.length() !== 0) throw new RangeError('it uses an address lookup table');
  if (reader.rest().length > 0) throw new RangeError('there are bytes behind its end');
  if (signerCount === 0 || signatures.length !== signerCount || signerCount > keys.length)
    throw new RangeError('it has another number of signatures than of signers');
  if (new Set(keys).size !== keys.length) throw new RangeError('it names an account twice');
  return { signatures, message, signerCount, keys, blockhash, instructions };
}

function readInstruction(reader: ByteReader, keys: readonly string[]): SolanaInstruction {
  const program = keys[reader.byte()];
  const accounts = reader.list(() => reader.byte());
  if (program === undefined || accounts.some((index) => index >= keys.length))
    throw new RangeError('an instruction names an account that is not there');
  return { program, accounts, data: reader.take(reader.length()) };
}

/** Reads bytes in their order; throws a `RangeError` past their end. */
class ByteReader {
  private offset = 0;

  constructor(private readonly bytes: Buffer) {}

  take(count: number): Buffer {
    const end = this.offset + count;
    if (end > this.bytes.length) throw new RangeError('it is too short');
    const taken = this.bytes.subarray(this.offset, end);
    this.offset = end;
    return taken;
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  /** What has not been read; stays unread. */
  rest(): Buffer {
    return this.bytes.subarray(this.offset);
  }

  /** A length below 16,384, in one or two bytes of seven bits; the network refuses longer forms of a short length. */
  length(): number {
    const low = this.byte();
    if (low < 0x80) return low;
    const high = this.byte();
    if (high === 0 || high >= 0x80) throw new RangeError('a length is malformed');
    return (low & 0x7f) | (high << 7);
  }

  /** Items are at least a byte long, so that a length beyond the end is found out at once. */
  list<Item>(read: () => Item): Item[] {
    const count = this.length();
    if (count > this.bytes.length - this.offset) throw new RangeError('it is too short');
    return Array.from({ length: count }, read);
  }
}

/** The 32 bytes of an address. Throws a `RangeError` for anything else, which settings exclude. */
export function addressBytes(address: string): Buffer {
  const bytes = decodeBase58(address);
  if (bytes?.length !== 32) throw new RangeError(`${address} is no address`);
  return bytes;
}
