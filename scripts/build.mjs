#!/usr/bin/env node
// `npm run build`: generates the Prisma client, then compiles the sources to `dist/`, preserving their tree.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatePrismaClient } from './generate-prisma.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, 'dist', '.built');
const inputs = [
  'apps',
  'libs',
  'test/harness',
  'bench',
  'prisma',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** Compiles everything; compiler messages go to the terminal. Throws on errors. */
export function build() {
  const startedAt = new Date();
  generatePrismaClient();
  const info = join(root, 'dist', '.tsbuildinfo');
  // An interrupted build, or a manually emptied dist, must not count as up to date.
  if (!existsSync(stamp)) rmSync(info, { force: true });
  rmSync(stamp, { force: true });
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const result = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
  if (result.status !== 0) throw new Error('The sources do not compile.');
  mkdirSync(dirname(stamp), { recursive: true });
  // Dated before the compiler read its inputs, so that files changed meanwhile are newer.
  writeFileSync(stamp, `${startedAt.toISOString()}\n`);
}

/** True when `dist` is missing or older than any source. */
export function isBuildStale() {
  if (!existsSync(stamp)) return true;
  const builtMs = Date.parse(readFileSync(stamp, 'utf8').trim());
  return inputs.some((input) => newestMs(join(root, input)) > builtMs);
}

function newestMs(path) {
  if (!existsSync(path)) return 0;
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.mtimeMs;
  let newest = 0;
  for (const name of readdirSync(path)) {
    if (name === 'generated' || name === 'node_modules') continue;
    newest = Math.max(newest, newestMs(join(path, name)));
  }
  return newest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    build();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
