import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Deletes the libraries of other systems from an installed `onnxruntime-node`, which brings those of all: 255 MB of
 * 300. npm leaves them, because install scripts are off and the package lists no platforms. Returns the bytes that are
 * free now; 0 when there is nothing to delete, or this user may not.
 */
export function trimRuntime({
  folder = runtimeFolder(),
  platform = process.platform,
  architecture = process.arch,
} = {}) {
  // Without its own, this is no installation for this system, and whoever repairs it needs to see what there is.
  if (folder === null || !existsSync(join(folder, platform, architecture))) return 0;
  const others = [
    ...foldersIn(folder).filter((name) => name !== platform),
    ...foldersIn(join(folder, platform))
      .filter((name) => name !== architecture)
      .map((name) => join(platform, name)),
  ];
  let freed = 0;
  for (const name of others) {
    const path = join(folder, name);
    try {
      const bytes = bytesIn(path);
      rmSync(path, { recursive: true });
      freed += bytes;
    } catch {
      // Root installed it, or its file system is read-only. It works as it is.
    }
  }
  return freed;
}

function runtimeFolder() {
  try {
    const entry = createRequire(import.meta.url).resolve('onnxruntime-node');
    return join(dirname(dirname(entry)), 'bin', 'napi-v6');
  } catch {
    return null;
  }
}

function foldersIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function bytesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
