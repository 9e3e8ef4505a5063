import { hkdfSync } from 'node:crypto';

/**
 * A key of 32 bytes for one purpose, from the installation's secret (64 hex digits): what is signed for one purpose
 * means nothing for another, and every replica derives the same.
 */
export function deriveKey(secretKey: string, purpose: string): Buffer {
  const secret = Buffer.from(secretKey, 'hex');
  if (secret.length !== 32) throw new RangeError('The secret key must have 32 bytes.');
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, 32));
}
