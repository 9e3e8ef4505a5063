import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `YYYYMMDD.HHMMSS` in UTC. */
export function versionOf(date: Date): string {
  const digits = date.toISOString().replaceAll(/\D/g, '');
  return `${digits.slice(0, 8)}.${digits.slice(8, 14)}`;
}

/**
 * When this build was made, for `x-service-version`: the stamp `npm run build` leaves in `dist/build.json`, or else
 * the time of this very file.
 */
export function serviceVersion(): string {
  const self = fileURLToPath(import.meta.url);
  try {
    const stamp: unknown = JSON.parse(
      readFileSync(fileURLToPath(new URL('../../../../build.json', import.meta.url)), 'utf8'),
    );
    if (typeof stamp === 'object' && stamp !== null && 'builtAt' in stamp)
      return versionOf(new Date(String(stamp.builtAt)));
    return versionOf(statSync(self).mtime);
  } catch {
    // Run from sources, or a build without a stamp: the file's own time says as much.
    return versionOf(statSync(self).mtime);
  }
}
