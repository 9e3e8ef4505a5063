import { hkdfSync } from 'node:crypto';

/**
 * Derives a 32-byte key for one purpose from the installation's secret (64 hex digits). Every replica derives the same
 * key; a signature for one purpose is invalid for another.
 */
export function deriveKey(secretKey: string, purpose: string): Buffer {
  const secret = Buffer.from(secretKey, 'hex');
  if (secret.length !== 32) throw new RangeError('The secret key must have 32 bytes.');
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, 32));
}
