import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `YYYYMMDD.HHMMSS` in UTC. */
export function versionOf(date: Date): string {
  const digits = date.toISOString().replaceAll(/\D/g, '');
  return `${digits.slice(0, 8)}.${digits.slice(8, 14)}`;
}

/** Parses the build stamp; null when it is missing or not a date. */
function stampedAt(path: URL): Date | null {
  try {
    const date = new Date(readFileSync(path, 'utf8').trim());
    return Number.isNaN(date.getTime()) ? null : date;
  } catch {
    // The service runs from sources, or from a build copied without its stamp.
    return null;
  }
}

/**
 * Build time for `x-service-version`: the stamp that `npm run build` writes to `dist`, or the modification time of this
 * file.
 */
export function serviceVersion(stamp = new URL('../../../../.built', import.meta.url)): string {
  return versionOf(stampedAt(stamp) ?? statSync(fileURLToPath(import.meta.url)).mtime);
}
