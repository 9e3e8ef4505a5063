import { existsSync, readFileSync, rmSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Editors write a file in several steps. */
const settleMs = 100;

/**
 * Calls `onChange` with the TypeScript sources under `folders` of `root` whose content changed, such as
 * `libs/queue/src/index.ts`. Returns a function that ends it.
 */
export function watchSources({ root, folders, onChange }) {
  const changed = new Set();
  const known = new Map();
  let timer;
  const report = () => {
    const paths = [...changed].filter((path) => isNew(path));
    changed.clear();
    if (paths.length > 0) onChange(paths.toSorted((a, b) => a.localeCompare(b)));
  };
  /** Saving a file as it was is no change. A removed one is. */
  const isNew = (path) => {
    const text = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : null;
    if (known.has(path) && known.get(path) === text) return false;
    known.set(path, text);
    return true;
  };
  const watchers = folders.map((folder) =>
    watch(join(root, folder), { recursive: true }, (_event, name) => {
      const path = `${folder}/${String(name).replaceAll('\\', '/')}`;
      if (!path.endsWith('.ts') || /(\.d|spec)\.ts$|\/(generated|__fixtures__)\/|^apps\/console\//.test(path)) return;
      changed.add(path);
      clearTimeout(timer);
      timer = setTimeout(report, settleMs);
    }),
  );
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}

/** Deletes what was built from a source that is gone. */
export function removeBuilt(root, path) {
  const output = join(root, 'dist', path.replace(/\.ts$/, '.js'));
  for (const file of [output, `${output}.map`]) rmSync(file, { force: true });
}
