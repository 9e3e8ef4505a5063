import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describeInstallFailure, isCutShort, SetupFailure } from './setup-failure.mjs';
import { npmCommand } from './steps.mjs';
import { configuredRegistry, withTarballUrls } from './tarball-urls.mjs';

/** Development packages are not needed: `npm test` installs them. What npm says is shown only when it fails. */
const options = ['--loglevel=warn', '--omit=dev', '--include=optional', '--no-audit', '--no-fund'];

/** Installs the packages that a start needs into a clone. Rejects with a `SetupFailure`. */
export async function installForStart(folder) {
  const close = showSeconds('Installing packages (npm ci) …');
  let result = await installFromUrls(folder);
  // Some registries keep tarballs elsewhere; npm learns the address from the metadata of each package.
  if (/^npm (?:error|ERR!) code E404$/m.test(result.stderr)) result = await runNpm(['ci', ...options], folder);
  close();
  const { code, signal, stderr } = result;
  if (code === 0 && !isCutShort(stderr)) return;
  // npm writes its hidden lockfile last; without it, the next start installs again.
  rmSync(join(folder, 'node_modules', '.package-lock.json'), { force: true });
  const sentence = describeInstallFailure({ stderr, signal, folder });
  if (sentence === null) process.stderr.write(stderr);
  throw new SetupFailure(sentence ?? 'npm ci failed; see above.');
}

/** Installs by a lockfile with addresses, which npm prefers to the committed one and which exists only meanwhile. */
async function installFromUrls(folder) {
  const registry = configuredRegistry(folder);
  if (registry === null) return runNpm(['ci', ...options], folder);
  const shrinkwrap = join(folder, 'npm-shrinkwrap.json');
  const lockfile = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  writeFileSync(shrinkwrap, JSON.stringify(withTarballUrls(lockfile, registry)));
  const remove = () => rmSync(shrinkwrap, { force: true });
  process.once('exit', remove);
  try {
    return await runNpm(['ci', ...options], folder);
  } finally {
    remove();
    process.removeListener('exit', remove);
  }
}

function runNpm(words, cwd) {
  const [command, ...args] = [...npmCommand, ...words];
  const shell = command === 'npm' && process.platform === 'win32';
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], shell });
  const release = endWithSignals(child);
  let stderr = '';
  child.stderr.on('data', (part) => (stderr += part));
  return new Promise((resolve, reject) => {
    child.once('error', () =>
      reject(new SetupFailure('npm cannot be run: install it, or add it to PATH. It comes with Node.')),
    );
    child.once('close', (code, signal) => {
      release();
      resolve({ code, signal, stderr });
    });
  });
}

/**
 * Ends this process and npm at once when a signal asks this one to end. npm alone would go on for a while, and the installation of
 * the next start would collide with it; that one begins from nothing.
 */
function endWithSignals(child) {
  const end = (signal) => {
    child.kill('SIGKILL');
    process.exit(128 + constants.signals[signal]);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.once(signal, end);
  return () => signals.forEach((signal) => process.removeListener(signal, end));
}

/** Writes what is going on: in a terminal with the seconds that have passed, until the function that is returned is called. */
function showSeconds(text) {
  if (!process.stdout.isTTY) {
    console.log(text);
    return () => undefined;
  }
  const startedMs = performance.now();
  const show = () => process.stdout.write(`\r${text} ${Math.round((performance.now() - startedMs) / 1_000)} s`);
  show();
  const timer = setInterval(show, 1_000);
  return () => {
    clearInterval(timer);
    process.stdout.write('\n');
  };
}
