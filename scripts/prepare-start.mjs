/* What `npm start` and `npm run dev` do before they run anything: install and build what is missing. */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.mjs';
import { trimRuntime } from '../bin/trim-runtime.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** npm writes its hidden lockfile last, so an interrupted install has none. */
function isInstallStale() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return true;
  return statSync(join(root, 'package-lock.json')).mtimeMs > statSync(installed).mtimeMs;
}

function install() {
  console.log('Installing packages (npm ci) …');
  // Hides engine warnings of packages that work anyway; they would be the first output a new user sees.
  // Development packages are not needed: `npm test` installs them.
  const args = ['ci', '--loglevel=error', '--omit=dev', '--include=optional', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  const [command, ...rest] = npm ? [process.execPath, npm, ...args] : ['npm', ...args];
  const result = spawnSync(command, rest, { cwd: root, stdio: 'inherit', shell: !npm && process.platform === 'win32' });
  if (result.status !== 0) fail('npm ci failed; see above.');
  trimRuntime();
}

/** Ends the process with a message if it fails. */
export async function prepareStart() {
  requireNode();
  if (isInstallStale()) install();
  const { buildForStart, isBuildStale } = await import('./build.mjs');
  if (isBuildStale()) {
    console.log('Building …');
    try {
      await buildForStart();
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error));
    }
  }
}
