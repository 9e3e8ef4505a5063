/* What `npm start` and `npm run dev` do before they run anything: install and build what is missing. */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function fail(message) {
  console.error(message);
  process.exit(1);
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const supported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24;
  if (!supported) fail(`Sluice needs Node 20.19, 22.12, 24 or newer; this is ${process.versions.node}.`);
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
