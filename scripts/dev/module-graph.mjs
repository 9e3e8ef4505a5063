import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** Imports, re-exports, and modules that run in a process or thread of their own, by URL. */
const references =
  /(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]|new URL\(\s*(?:['"](\.[^'"]+)['"]|`(\.[^`]+)`),\s*import\.meta\.url/g;

/**
 * Returns the files that the program at `entry` uses, such as `libs/queue/src/index.ts`, by following what is built in
 * `dist`. Packages are not followed.
 */
export function modulesOf(root, entry) {
  const require = createRequire(join(root, 'package.json'));
  const found = new Set();
  const open = [join(root, 'dist', entry.replace(/\.ts$/, '.js'))];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path) || !path.endsWith('.js') || !existsSync(path)) continue;
    found.add(path);
    for (const [, imported, url, template] of readFileSync(path, 'utf8').matchAll(references)) {
      const next = target(require, path, imported ?? url ?? template.replace(/\$\{[^}]*\}/, 'js'));
      if (next !== null) open.push(next);
    }
  }
  const dist = join(root, 'dist');
  return new Set([...found].map((path) => relative(dist, path).replaceAll('\\', '/').replace(/\.js$/, '.ts')));
}

function target(require, from, name) {
  if (name.startsWith('.')) return resolve(dirname(from), name);
  if (!name.startsWith('#')) return null;
  try {
    return require.resolve(name);
  } catch {
    // Not built: only the tests import it.
    return null;
  }
}
