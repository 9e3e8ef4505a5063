import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { base58Bytes, encodeBase58 } from '#accounts';
import { ChainError } from '../chain-error.js';
import { addressBytes } from './solana-transaction.js';

const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** A key pair of 64 bytes in base58, as wallets export it. */
export class SolanaKey {
  readonly address: string;
  private readonly key: KeyObject;

  /** Throws `ChainError` if its halves do not belong together. */
  constructor(pair: string) {
    const bytes = base58Bytes(pair, 64);
    if (bytes === null) throw new ChainError('unusable', 'the key of the fee payer is not 64 bytes long');
    const der = Buffer.concat([privatePrefix, bytes.subarray(0, 32)]);
    this.key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const publicBytes = createPublicKey(this.key).export({ format: 'der', type: 'spki' }).subarray(-32);
    if (!publicBytes.equals(bytes.subarray(32)))
      throw new ChainError('unusable', 'the halves of the key of the fee payer do not belong together');
    this.address = encodeBase58(publicBytes);
  }

  /** The same bytes for the same message: the signature is the name of the transaction before it is sent. */
  sign(message: Buffer): Buffer {
    return sign(null, message, this.key);
  }
}

export function isSignedBy(address: string, message: Buffer, signature: Buffer): boolean {
  const key = Buffer.concat([publicPrefix, addressBytes(address)]);
  return verify(null, message, createPublicKey({ key, format: 'der', type: 'spki' }), signature);
}
