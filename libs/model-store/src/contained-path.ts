import { resolve, sep } from 'node:path';
import { PlatformError } from '#common';
import { isInnerPath } from '#platform/files';

/**
 * Returns where a name from a manifest, an archive or a hub lies in a folder; every write goes through this. Throws
 * `INVALID_MANIFEST` for a name that is not a path inside the folder, before and after it is resolved.
 */
export function containedPath(folder: string, name: string): string {
  const path = resolve(folder, name);
  if (isInnerPath(name) && path.startsWith(`${resolve(folder)}${sep}`)) return path;
  const shown = JSON.stringify(name.slice(0, 100).toWellFormed());
  throw new PlatformError('INVALID_MANIFEST', `${shown} is not a relative path inside the model's folder.`, 'sources');
}
