// Builds the pages of the console, apps/console, to dist/console.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'apps', 'console');
const output = join(root, 'dist', 'console');
const stamp = join(root, 'dist', '.console-built');
/** What the first view and the playground may load, gzipped. */
const maxBytes = { first: 90_000, playground: 60_000 };

/** Builds the pages unless they are up to date. Throws on errors. */
export function buildConsole() {
  if (!isConsoleStale()) return;
  const vite = findVite();
  if (vite === null) return;
  const startedAt = new Date();
  // In a process of its own: Vite changes settings of the process that builds.
  const result = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], { cwd: sources, stdio: 'inherit' });
  if (result.status !== 0) throw new Error('The console does not build.');
  const sizes = consoleSizes();
  for (const [part, bytes] of Object.entries(sizes)) {
    if (bytes > maxBytes[part]) throw new Error(`${part}: ${bytes} bytes gzipped, of at most ${maxBytes[part]}.`);
  }
  // Dated before Vite read its inputs, so that files changed meanwhile are newer.
  writeFileSync(stamp, `${startedAt.toISOString()}\n`);
}

/** True when the pages are missing or older than their sources. False where they cannot be built. */
export function isConsoleStale() {
  if (findVite() === null) return false;
  if (!existsSync(stamp) || !existsSync(join(output, 'index.html'))) return true;
  const builtMs = Date.parse(readFileSync(stamp, 'utf8').trim());
  return newestMs(sources) > builtMs || newestMs(join(root, 'package.json')) > builtMs;
}

/** Returns what the browser loads for the first view and, in addition, for the playground: bytes, gzipped. */
export function consoleSizes() {
  const assets = readdirSync(join(output, 'assets')).map((name) => join('assets', name));
  const sizeOf = (names) =>
    names.reduce((sum, name) => sum + gzipSync(readFileSync(join(output, name)), { level: 9 }).length, 0);
  const isOfPlayground = (name) => basename(name).startsWith('playground-');
  return {
    first: sizeOf(['index.html', ...assets.filter((name) => !isOfPlayground(name))]),
    playground: sizeOf(assets.filter(isOfPlayground)),
  };
}

/** An installation without development packages has no Vite: it uses the pages that it came with. */
function findVite() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin', 'vite.js');
  } catch {
    return null;
  }
}

function newestMs(path) {
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.mtimeMs;
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMs(join(path, name))), entry.mtimeMs);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    buildConsole();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
