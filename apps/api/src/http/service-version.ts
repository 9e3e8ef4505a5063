import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `YYYYMMDD.HHMMSS` in UTC. */
export function versionOf(date: Date): string {
  const digits = date.toISOString().replaceAll(/\D/g, '');
  return `${digits.slice(0, 8)}.${digits.slice(8, 14)}`;
}

/** The build's stamp as a date; null where there is none, or nothing that is a date. */
function stampedAt(path: URL): Date | null {
  try {
    const date = new Date(readFileSync(path, 'utf8').trim());
    return Number.isNaN(date.getTime()) ? null : date;
  } catch {
    // Run from sources, or from a build that was copied without its stamp.
    return null;
  }
}

/**
 * When this build was made, for `x-service-version`: the stamp that `npm run build` leaves at the top of `dist`, or
 * else the time of this very file.
 */
export function serviceVersion(stamp = new URL('../../../../.built', import.meta.url)): string {
  return versionOf(stampedAt(stamp) ?? statSync(fileURLToPath(import.meta.url)).mtime);
}
