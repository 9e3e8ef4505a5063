import { base58Bytes, encodeBase58 } from '#accounts';
import { ByteReader } from '../../payload/byte-reader.js';

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

/** The 32 bytes of an address. Throws a `RangeError` for anything else, which settings exclude. */
export function addressBytes(address: string): Buffer {
  const bytes = base58Bytes(address, 32);
  if (bytes === null) throw new RangeError(`${address} is no address`);
  return Buffer.from(bytes);
}
