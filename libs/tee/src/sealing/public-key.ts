/** Bytes of an uncompressed key: 04 and two coordinates of 32 bytes. */
export const publicKeyBytes = 65;

const fieldSize = 2n ** 256n - 2n ** 32n - 977n;

/**
 * Reads an uncompressed secp256k1 key: 130 hex characters that begin with 04, in either case. Null for other forms and
 * for a point that is not on the curve, which would give parts of a private key away.
 */
export function readPublicKey(hex: string): Uint8Array | null {
  if (hex.length !== 2 * publicKeyBytes || !/^04[0-9a-f]{128}$/i.test(hex)) return null;
  return isOnCurve(hex) ? Buffer.from(hex, 'hex') : null;
}

/** Whether the coordinates satisfy y² = x³ + 7 and are in their only form. The point at infinity has no such form. */
function isOnCurve(hex: string): boolean {
  const x = BigInt(`0x${hex.slice(2, 66)}`);
  const y = BigInt(`0x${hex.slice(66)}`);
  if (x >= fieldSize || y >= fieldSize) return false;
  return (y * y - x * x * x - 7n) % fieldSize === 0n;
}
