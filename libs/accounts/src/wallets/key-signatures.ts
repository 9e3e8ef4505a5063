import { createPublicKey, verify } from 'node:crypto';
import { base58Bytes } from './base58.js';

/** The digest that `personal_sign` signs (EIP-191), as bytes. */
export async function personalDigest(text: string): Promise<Uint8Array> {
  const { keccak_256 } = await import('@noble/hashes/sha3');
  const bytes = Buffer.from(text, 'utf8');
  return keccak_256(Buffer.concat([Buffer.from(`\u0019Ethereum Signed Message:\n${bytes.length}`), bytes]));
}

/** Returns the address (lower case) whose key made a signature of 65 bytes (hex), or null for one that no key made. */
export async function recoverAddress(digest: Uint8Array, signature: string): Promise<string | null> {
  const [{ secp256k1 }, { keccak_256 }] = await Promise.all([
    import('@noble/curves/secp256k1'),
    import('@noble/hashes/sha3'),
  ]);
  const bytes = Buffer.from(signature.slice(2), 'hex');
  const parity = bytes[64] ?? 0;
  const recovery = parity >= 27 ? parity - 27 : parity;
  if (bytes.length !== 65 || recovery > 1) return null;
  try {
    const point = secp256k1.Signature.fromCompact(bytes.subarray(0, 64))
      .addRecoveryBit(recovery)
      .recoverPublicKey(digest);
    return `0x${Buffer.from(keccak_256(point.toRawBytes(false).subarray(1)).subarray(12)).toString('hex')}`;
  } catch {
    // Numbers outside the curve.
    return null;
  }
}

/** What comes before the 32 bytes of an Ed25519 key in its SPKI form. */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Checks an Ed25519 signature, base58 or base64, of the UTF-8 bytes of a text by a Solana account. */
export function isSolanaSignature(address: string, text: string, signature: string): boolean {
  const key = base58Bytes(address, 32);
  if (key === null) return false;
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, key]), format: 'der', type: 'spki' });
  // 64 bytes can be valid text of both encodings; only one reading is the signature.
  return [base58Bytes(signature, 64), base64Bytes(signature)].some(
    (bytes) => bytes?.length === 64 && verify(null, Buffer.from(text, 'utf8'), publicKey, bytes),
  );
}

function base64Bytes(text: string): Buffer | null {
  return /^[\w+/-]{86}(?:==)?$/.test(text) ? Buffer.from(text, 'base64') : null;
}
