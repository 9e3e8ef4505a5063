import { createHash } from 'node:crypto';
import type { ModelManifest } from './manifest.js';

/**
 * Returns a fingerprint of everything that affects the installed files: sources, concatenation, converter. Prices,
 * names and limits do not affect it, so editing them does not reinstall the model.
 */
export function fingerprintManifest({ id, sources, concat, converter }: ModelManifest): string {
  return createHash('sha256').update(JSON.stringify({ id, sources, concat, converter })).digest('hex').slice(0, 16);
}
