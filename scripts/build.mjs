#!/usr/bin/env node
// `npm run build`: generates the Prisma client, then compiles the sources to `dist/`, preserving their tree. `npm start`
// translates without checking types, which takes a second instead of a minute and needs no development packages.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole, isConsoleStale } from './build-console.mjs';
import { generatePrismaClient } from './generate-prisma.mjs';
import { openTranslator } from './translate.mjs';

export { openTranslator };

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, 'dist', '.built');
/** Exists instead of `stamp` after a build without type checks. */
const startStamp = join(root, 'dist', '.built-for-start');
const info = join(root, 'dist', '.tsbuildinfo');
/** Prisma writes these (generate-prisma.mjs). */
const generatedSources = join('libs', 'platform', 'src', 'prisma', 'generated');
/** Vite builds these (build-console.mjs). */
const consoleSources = join('apps', 'console');
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
  buildConsole();
  const startedAt = new Date();
  generatePrismaClient();
  // An interrupted or unchecked build, or a manually emptied dist, must not count as up to date.
  if (!existsSync(stamp)) rmSync(info, { force: true });
  rmSync(stamp, { force: true });
  rmSync(startStamp, { force: true });
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const result = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
  if (result.status !== 0) throw new Error('The sources do not compile.');
  writeStamp(stamp, startedAt);
}

/**
 * Translates what `npm start` and the command line run, file by file and without checking types, while other processes build
 * the console and the Prisma client.
 */
export async function buildForStart() {
  const startedAt = new Date();
  for (const path of [stamp, startStamp, info]) rmSync(path, { force: true });
  const children = [runScript('build-console.mjs'), runScript('generate-prisma.mjs')];
  // Both are awaited below; a translation that fails first must not leave their errors unhandled.
  for (const child of children) child.catch(() => undefined);
  const translate = await openTranslator(root);
  const translateAll = (paths) => {
    for (const path of paths) {
      const errors = translate(path);
      if (errors.length > 0) throw new Error(`${path}: ${errors.join(' ')}`);
    }
  };
  translateAll([...sourcesIn('libs'), ...sourcesIn('apps')].filter((path) => !path.startsWith(generatedSources)));
  await Promise.all(children);
  translateAll(sourcesIn(generatedSources));
  writeStamp(startStamp, startedAt);
}

/** Runs one of the scripts of this folder; rejects when it fails, after it said why in the terminal. */
function runScript(name) {
  const child = spawn(process.execPath, [join(root, 'scripts', name)], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`scripts/${name} failed; see above.`))));
  });
}

/** Dated before the compiler read its inputs, so that files changed meanwhile are newer. */
function writeStamp(path, startedAt) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${startedAt.toISOString()}\n`);
}

/** True when `dist` is missing or older than any source that `npm start` runs. */
export function isBuildStale() {
  const built = [stamp, startStamp].find((path) => existsSync(path));
  if (built === undefined || isConsoleStale()) return true;
  const builtMs = Date.parse(readFileSync(built, 'utf8').trim());
  return inputs.some((input) => newestMs(join(root, input)) > builtMs);
}

function sourcesIn(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === '__fixtures__' || path === consoleSources ? [] : sourcesIn(path);
    return entry.name.endsWith('.ts') && !/(\.d|spec)\.ts$/.test(entry.name) ? [path] : [];
  });
}

function newestMs(path) {
  if (!existsSync(path)) return 0;
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.mtimeMs;
  let newest = 0;
  for (const name of readdirSync(path)) {
    const child = join(path, name);
    if (name === 'generated' || name === 'node_modules' || child === join(root, consoleSources)) continue;
    newest = Math.max(newest, newestMs(child));
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
