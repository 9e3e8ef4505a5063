import { spawn } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import * as os from 'node:os';
import { dirname, join, relative } from 'node:path';
import { describeInstallFailure, isCutShort, SetupFailure } from './setup-failure.mjs';
import { installedOf, linksOf, partsForStart } from './start-packages.mjs';
import { npmCommand } from './steps.mjs';
import { configuredRegistry, withTarballUrls } from './tarball-urls.mjs';

/** Development packages are not needed: `npm test` installs them. What npm says is shown only when it fails. */
const options = ['--loglevel=warn', '--omit=dev', '--include=optional', '--no-audit', '--no-fund', '--ignore-scripts'];

/** npm's hidden lockfile, which says what is installed. It is written last: an interrupted installation has none. */
export const hiddenLockfile = join('node_modules', '.package-lock.json');

const stagingName = '.staged-for-start';

/** Installs the packages that a start needs into a clone. Rejects with a `SetupFailure`. */
export async function installForStart(folder) {
  const close = showSeconds('Installing packages (npm ci) …');
  accessSync(folder, constants.W_OK);
  rmSync(join(folder, hiddenLockfile), { force: true });
  const registry = configuredRegistry(folder);
  const run = new NpmRun(folder);
  let result = registry === null ? await run.all(['.']) : await installInParts(run, folder, registry);
  // Some registries keep tarballs elsewhere; npm learns the address from the metadata of each package.
  if (/^npm (?:error|ERR!) code E404$/m.test(result.stderr)) result = await run.all(['.']);
  close();
  const { code, signal, stderr } = result;
  if (code === 0) return;
  rmSync(join(folder, hiddenLockfile), { force: true });
  const sentence = describeInstallFailure({ stderr, signal, folder });
  if (sentence === null) process.stderr.write(stderr);
  throw new SetupFailure(sentence ?? 'npm ci failed; see above.');
}

/**
 * Installs by lockfiles with addresses, which only exist meanwhile, into folders inside `node_modules`, so that packages
 * are moved within a file system. No package is replaced before all are there.
 */
async function installInParts(run, folder, registry) {
  const packages = join(folder, 'node_modules');
  const staged = join(packages, stagingName);
  rmSync(staged, { recursive: true, force: true });
  const lockfile = readJson(join(folder, 'package-lock.json'));
  const places = partsForStart(withTarballUrls(lockfile, registry), partCount()).map((part, index) => {
    const place = join(staged, String(index));
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), JSON.stringify(part.manifest));
    writeFileSync(join(place, 'package-lock.json'), JSON.stringify(part.lockfile));
    const settings = join(folder, '.npmrc');
    if (existsSync(settings)) copyFileSync(settings, join(place, '.npmrc'));
    return place;
  });
  const result = await run.all(places.map((place) => relative(folder, place)));
  if (result.code !== 0) {
    rmSync(staged, { recursive: true, force: true });
    return result;
  }
  for (const name of readdirSync(packages)) {
    if (name !== stagingName) rmSync(join(packages, name), { recursive: true, force: true });
  }
  const installed = places.flatMap((place) => Object.keys(readJson(join(place, hiddenLockfile)).packages));
  for (const place of places) movePackages(join(place, 'node_modules'), packages);
  for (const [path, target] of Object.entries(linksOf(lockfile))) linkPackage(folder, path, target);
  rmSync(staged, { recursive: true, force: true });
  writeFileSync(join(folder, hiddenLockfile), JSON.stringify(installedOf(lockfile, installed), null, 2));
  return result;
}

/** Two processes of npm take 1 GB of memory; one takes 750 MB. */
function partCount() {
  const memory = Math.min(os.totalmem(), process.constrainedMemory() || Infinity);
  return os.availableParallelism() > 1 && memory > 2e9 ? 2 : 1;
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Moves packages, those in folders of scopes, and links to commands, which are relative. */
function movePackages(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name === '.package-lock.json') continue;
    if (name === '.bin' || name.startsWith('@')) movePackages(join(from, name), join(to, name));
    else renameSync(join(from, name), join(to, name));
  }
}

function linkPackage(folder, path, target) {
  const link = join(folder, path);
  const place = join(folder, target);
  mkdirSync(dirname(link), { recursive: true });
  // A junction, which Windows allows to every user, has no relative target.
  symlinkSync(process.platform === 'win32' ? place : relative(dirname(link), place), link, 'junction');
}

/** Runs `npm ci`, also several at once. */
class NpmRun {
  constructor(folder) {
    this.folder = folder;
    this.children = new Set();
  }

  /**
   * Runs `npm ci` in each of these folders, given by relative paths, which have no blanks. Resolves to the result of the
   * first that fails, which ends the others, or else to that of the last.
   */
  async all(places) {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, this.endWith);
    let failed = null;
    try {
      const results = await Promise.all(
        places.map(async (place) => {
          const result = await this.one(['ci', ...options, '--prefix', place]);
          if (result.code !== 0 && failed === null) {
            failed = result;
            this.kill();
          }
          return result;
        }),
      );
      return failed ?? results.at(-1);
    } finally {
      for (const signal of signals) process.removeListener(signal, this.endWith);
    }
  }

  one(words) {
    const [command, ...args] = [...npmCommand, ...words];
    const shell = command === 'npm' && process.platform === 'win32';
    const child = spawn(command, args, { cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'], shell });
    this.children.add(child);
    let stderr = '';
    child.stderr.on('data', (part) => (stderr += part));
    return new Promise((resolve, reject) => {
      child.once('error', () =>
        reject(new SetupFailure('npm cannot be run: install it, or add it to PATH. It comes with Node.')),
      );
      child.once('close', (code, signal) => {
        this.children.delete(child);
        resolve({ code: isCutShort(stderr) ? 1 : code, signal, stderr });
      });
    });
  }

  kill() {
    for (const child of this.children) child.kill('SIGKILL');
  }

  /**
   * Ends npm and this process at once when a signal asks this one to end. npm alone would go on for a while, and the
   * installation of the next start would collide with it; that one begins from nothing.
   */
  endWith = (signal) => {
    this.kill();
    process.exit(128 + os.constants.signals[signal]);
  };
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
