// Builds the pages of the console, apps/console, to dist/console.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'apps', 'console');
const stamp = join(root, 'dist', 'console', '.built');

/** Builds the pages unless they are up to date. Throws on errors. */
export function buildConsole() {
  if (!isConsoleStale()) return;
  const vite = findVite();
  if (vite === null) return;
  const startedAt = new Date();
  // In a process of its own: Vite changes settings of the process that builds.
  const result = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], { cwd: sources, stdio: 'inherit' });
  if (result.status !== 0) throw new Error('The console does not build.');
  // Dated before Vite read its inputs, so that files changed meanwhile are newer.
  writeFileSync(stamp, `${startedAt.toISOString()}\n`);
}

/** True when the pages are missing or older than their sources. False where they cannot be built. */
export function isConsoleStale() {
  if (findVite() === null) return false;
  if (!existsSync(stamp)) return true;
  const builtMs = Date.parse(readFileSync(stamp, 'utf8').trim());
  return newestMs(sources) > builtMs || newestMs(join(root, 'package.json')) > builtMs;
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
