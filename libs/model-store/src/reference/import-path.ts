import { realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { PlatformError } from '#common';

/**
 * Returns the absolute path that a reference names below the import folder; relative paths begin there. Looks at names
 * only. Throws `INVALID_REQUEST` for a path elsewhere.
 */
export function importPath(importFolder: string, path: string): string {
  const found = resolve(importFolder, path);
  if (!path.includes('\0') && isBelow(importFolder, found)) return found;
  throw outside(importFolder, path);
}

/** Throws `INVALID_REQUEST` if a file or folder lies, once links are followed, outside of the import folder. */
export async function assertImported(importFolder: string, path: string): Promise<void> {
  // A missing file is reported by whoever opens it.
  const found = await realpath(path).catch(() => null);
  if (found !== null && !isBelow(await realpath(importFolder), found)) throw outside(importFolder, path);
}

function isBelow(folder: string, path: string): boolean {
  return path === resolve(folder) || path.startsWith(`${resolve(folder)}${sep}`);
}

function outside(importFolder: string, path: string): PlatformError {
  const message = `${path} is not below ${importFolder}. Only files below that folder of the model store's machine can be named.`;
  return new PlatformError('INVALID_REQUEST', message);
}
