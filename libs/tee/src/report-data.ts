import { sha256 } from '@noble/hashes/sha2';
import { hexToBytes } from '@noble/hashes/utils';

/** How the 32 bytes after the address hold the nonce: as it is, or as its SHA-256. */
export type NonceMethod = 'raw' | 'sha256';

/** Returns the bytes of a nonce of 32 or 64 hex characters; null for any other text. */
export function readNonce(text: string): Uint8Array | null {
  return /^(?:[0-9a-f]{32}|[0-9a-f]{64})$/i.test(text) ? hexToBytes(text) : null;
}

/** 32 bytes are taken as they are. 16 are hashed: padded ones could not be told from a longer nonce that ends in zeros. */
export function nonceMethodOf(nonce: Uint8Array): NonceMethod {
  return nonce.length === 32 ? 'raw' : 'sha256';
}

/** The 64 bytes that evidence carries: address (20), zeros (12), nonce or its SHA-256 (32). */
export function reportDataOf(address: string, nonce: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes.set(hexToBytes(address.replace(/^0x/, '')), 0);
  bytes.set(nonceMethodOf(nonce) === 'raw' ? nonce : sha256(nonce), 32);
  return bytes;
}
