import { secp256k1 } from '@noble/curves/secp256k1';
import { sha256 } from '@noble/hashes/sha2';
import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils';
import { endorsedBytes } from './receipts/endorsement.js';

/** The keys of one model host: made at its start, never stored, never sent. */
export interface HostIdentity {
  /** Uncompressed secp256k1 key: 130 hex characters that begin with 04. */
  readonly publicKey: string;
  /** `0x` and 40 hex characters, lower case. */
  readonly address: string;
  /** ECDH with an uncompressed or compressed key: the x coordinate, 32 bytes. Throws for a key that is not on the curve. */
  sharedSecret(peerPublicKey: Uint8Array): Uint8Array;
  /** EIP-191 signature of a text: `0x` and 130 hex characters, the last two 1b or 1c. */
  sign(text: string): string;
  /** Signs the digest of a keyset of this host; 64 bytes as hex. */
  endorse(keysetDigest: string): string;
}

/** Makes a new key. Nothing but the returned functions can reach it. */
export function createHostIdentity(): HostIdentity {
  return identityOf(secp256k1.utils.randomPrivateKey());
}

/** The identity of a key of 32 bytes; for tests with known keys. */
export function identityOf(privateKey: Uint8Array): HostIdentity {
  const publicKey = secp256k1.getPublicKey(privateKey, false);
  return {
    publicKey: bytesToHex(publicKey),
    address: addressOfPublicKey(publicKey),
    sharedSecret: (peerPublicKey) => secp256k1.getSharedSecret(privateKey, peerPublicKey, true).slice(1),
    sign: (text) => {
      const signature = secp256k1.sign(personalMessageHash(text), privateKey);
      return `0x${signature.toCompactHex()}${(27 + signature.recovery).toString(16)}`;
    },
    endorse: (keysetDigest) => secp256k1.sign(sha256(endorsedBytes(keysetDigest)), privateKey).toCompactHex(),
  };
}

/** The address of an uncompressed key of 65 bytes: the last 20 bytes of the Keccak-256 of its coordinates. */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  return `0x${bytesToHex(keccak_256(publicKey.subarray(1)).subarray(-20))}`;
}

/** The address whose key signed a text under EIP-191; null for a signature that no key can have made. */
export function recoverAddress(text: string, signature: string): string | null {
  const match = /^0x([0-9a-f]{128})(1b|1c|00|01)$/i.exec(signature);
  if (match === null) return null;
  const [, compact = '', recovery = ''] = match;
  try {
    const point = secp256k1.Signature.fromCompact(compact).addRecoveryBit(Number.parseInt(recovery, 16) % 27);
    return addressOfPublicKey(point.recoverPublicKey(personalMessageHash(text)).toRawBytes(false));
  } catch {
    return null;
  }
}

/** Whether an uncompressed key, as hex, endorsed a keyset. Never throws. */
export function isEndorsed(publicKey: string, keysetDigest: string, endorsement: string): boolean {
  if (!/^[0-9a-f]{128}$/.test(endorsement)) return false;
  try {
    return secp256k1.verify(endorsement, sha256(endorsedBytes(keysetDigest)), publicKey);
  } catch {
    return false;
  }
}

/** EIP-191, version 0x45: the length counts bytes. */
function personalMessageHash(text: string): Uint8Array {
  const bytes = utf8ToBytes(text);
  return keccak_256(concatBytes(utf8ToBytes(`\u0019Ethereum Signed Message:\n${bytes.length}`), bytes));
}
