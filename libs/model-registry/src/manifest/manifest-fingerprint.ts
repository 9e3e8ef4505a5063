import { createHash } from 'node:crypto';
import type { ModelManifest } from './manifest.js';

/**
 * Returns a fingerprint of everything that affects the installed files: sources, concatenation, converter, base. Prices,
 * names and limits do not affect it, so editing them does not reinstall the model. The order of fields does not matter:
 * YAML keeps it, a database does not. Neither do mirrors, which hold the same files.
 */
export function fingerprintManifest({ id, sources, concat, converter, adapterOf }: ModelManifest): string {
  const mirrored = sources.map((source) => ({ ...source, mirrors: undefined }));
  return createHash('sha256')
    .update(JSON.stringify(sorted({ id, sources: mirrored, concat, converter, adapterOf })))
    .digest('hex')
    .slice(0, 16);
}

/** A copy whose objects have their fields in alphabetical order. Lists keep theirs. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(fields.map(([name, member]) => [name, sorted(member)]));
}
