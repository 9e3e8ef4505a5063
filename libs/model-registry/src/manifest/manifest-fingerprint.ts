import { createHash } from 'node:crypto';
import type { ModelManifest } from './manifest.js';

/**
 * Changes when the installed files would: sources, concatenation, converter. Prices, names and limits leave it
 * alone, so that editing them installs nothing anew.
 */
export function fingerprintManifest({ id, sources, concat, converter }: ModelManifest): string {
  return createHash('sha256').update(JSON.stringify({ id, sources, concat, converter })).digest('hex').slice(0, 16);
}
