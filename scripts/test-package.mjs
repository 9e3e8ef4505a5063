#!/usr/bin/env node
// `npm test -- package`: packs the npm package, installs it into an empty folder as a user would, starts it, opens the
// console, asks one chat, stops it, and does the same again without a network for npm and models.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCommandLine } from './command-line.mjs';
import { lockedName } from './locked-name.mjs';
import { servePackage } from './package-registry.mjs';
import { npmCommand, root, runCommand } from './steps.mjs';
import { configuredRegistry } from './tarball-urls.mjs';

const about = `npm test -- package [options]\n
Packs the npm package, installs it into an empty folder, starts it, asks one chat, stops it and starts it again offline.`;
const { values } = readCommandLine(about, {
  tarball: { value: 'FILE', about: 'tests this package instead of a new one' },
  model: { value: 'ID', about: 'the model to pull and ask', default: 'stories-15m' },
  keep: { about: 'leaves the folder, and says where it is' },
});
// Its name has blanks and a letter beyond ASCII, as those of many home folders.
const folder = mkdtempSync(join(tmpdir(), 'sluice package ü '));
const installed = join(folder, 'app', 'node_modules', 'sluice');
const home = join(folder, 'home');
/** A first start pulls and converts the model. */
const maxStartMs = 600_000;
const maxStopMs = 60_000;
/** After a start, which deletes the runtimes of other systems (docs/decisions/package-size.md). */
const maxInstalledBytes = 450_000_000;
/** Nothing listens there, so whoever asks it fails at once. */
const nowhere = 'http://127.0.0.1:9';

async function pack() {
  if (values.tarball) return resolve(values.tarball);
  const out = join(folder, 'tarball');
  const code = await runCommand([process.execPath, join(root, 'scripts/package.mjs'), '--out', out]);
  if (code !== 0) throw new Error('npm run package failed.');
  return join(out, readdirSync(out)[0]);
}

function install(tarball) {
  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true }\n');
  const started = performance.now();
  const [command, ...words] = [...npmCommand, 'install', '--ignore-scripts', '--no-audit', '--no-fund', tarball];
  execFileSync(command, words, { cwd: app, stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(`installed in ${seconds} s: ${describeSize()}`);
}

/**
 * Fails unless every package below ours has a version of the lockfile, with which the tests ran. npm pins them for packages
 * of a registry only, and not for a tarball.
 */
async function checkVersions(tarball) {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const registry = await servePackage({ tarball, manifest, others: configuredRegistry(folder) });
  const place = join(folder, 'from a registry');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{ "private": true }\n');
  const options = ['--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const name = `${manifest.name}@${manifest.version}`;
  const words = [...npmCommand, 'install', ...options, `--registry=${registry.url}`, name];
  const code = await runCommand(words, { cwd: place });
  registry.close();
  if (code !== 0) throw new Error(`npm install ${name} failed.`);
  const versionsIn = (lockfile) =>
    Object.entries(JSON.parse(readFileSync(lockfile, 'utf8')).packages)
      .filter(([path]) => path.includes('node_modules/'))
      .map(([path, entry]) => `${lockedName(path, entry)}@${entry.version}`);
  const locked = new Set([name, ...versionsIn(join(root, 'package-lock.json'))]);
  const found = versionsIn(join(place, 'package-lock.json'));
  const others = found.filter((version) => !locked.has(version));
  if (others.length > 0) throw new Error(`The lockfile does not have: ${others.join(', ')}`);
  console.log(`from a registry: ${found.length} packages, with the versions of the lockfile`);
}

/** Packages and bytes of the installation; fails when it is larger than it may be. */
function describeSize(maxBytes = Infinity) {
  const [packages, bytes] = countFiles(join(folder, 'app', 'node_modules'));
  const megabytes = (size) => `${(size / 1e6).toFixed(0)} MB`;
  if (bytes > maxBytes) throw new Error(`The installation has ${megabytes(bytes)}, more than ${megabytes(maxBytes)}.`);
  return `${packages} packages, ${megabytes(bytes)}`;
}

/** Number of packages and bytes below a folder. */
function countFiles(path) {
  let packages = 0;
  let bytes = 0;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) {
      const [more, size] = countFiles(child);
      packages += more;
      bytes += size;
    } else if (entry.isFile()) {
      bytes += statSync(child).size;
    }
  }
  if (/[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/@]+$/.test(path)) packages += 1;
  return [packages, bytes];
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer().once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** `sluice start`, until it is stopped. */
class Installation {
  output = '';

  constructor(port, environment) {
    const env = { ...process.env, SLUICE_HOME: home, PORT: String(port), SLUICE_MODELS: values.model, ...environment };
    this.origin = `http://127.0.0.1:${port}`;
    this.startedAt = performance.now();
    this.child = spawn(process.execPath, [join(installed, 'bin', 'sluice.mjs'), 'start'], { env, cwd: folder });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on('data', (text) => {
        this.output += text;
      });
    }
    this.ended = new Promise((done) => this.child.once('exit', (code) => done(code)));
  }

  /** Asks until `attempt` returns something; fails when the process ends or the time is over. */
  async until(what, attempt) {
    while (performance.now() - this.startedAt < maxStartMs) {
      const result = await attempt().catch(() => null);
      if (result) return result;
      if (this.child.exitCode !== null) throw new Error(`sluice start ended with ${this.child.exitCode}.`);
      await sleep(250);
    }
    throw new Error(`No ${what} within ${maxStartMs / 1_000} s.`);
  }

  seconds() {
    return ((performance.now() - this.startedAt) / 1_000).toFixed(1);
  }

  async chat(key) {
    const response = await fetch(`${this.origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: values.model,
        messages: [{ role: 'user', content: 'Once upon a time' }],
        max_completion_tokens: 8,
      }),
    });
    const body = await response.json();
    return response.ok && body.usage.completion_tokens > 0 ? body : null;
  }

  /** Fails unless the page of the console and everything it names are served. */
  async openConsole() {
    const page = await fetch(`${this.origin}/console/`);
    const html = await page.text();
    const assets = html.match(/assets\/[\w.-]+/g) ?? [];
    if (!page.ok || assets.length === 0) throw new Error(`/console/: ${page.status} ${html.slice(0, 200)}`);
    for (const asset of assets) {
      const { ok, status } = await fetch(`${this.origin}/console/${asset}`);
      if (!ok) throw new Error(`/console/${asset}: ${status}`);
    }
  }

  async stop() {
    this.child.kill('SIGINT');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), maxStopMs);
    const code = await this.ended;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`sluice start ended with ${code} after Ctrl-C.`);
  }
}

/** Starts, asks one chat and stops. */
async function runOnce(name, environment = {}) {
  const product = new Installation(await freePort(), environment);
  try {
    await product.until('address', async () => product.output.includes('Sluice is ready.'));
    console.log(`${name}: ready after ${product.seconds()} s`);
    await product.openConsole();
    const key = /Inference key\s+(slk_\S+)/.exec(readFileSync(join(home, 'first-keys.txt'), 'utf8'))?.[1];
    await product.until('chat', () => product.chat(key));
    console.log(`${name}: first chat after ${product.seconds()} s`);
    if (/\bnpm (start|ci|run)\b/.test(product.output)) throw new Error('The output advises a command of a clone.');
  } catch (error) {
    console.error(product.output);
    throw error;
  } finally {
    if (product.child.exitCode === null) await product.stop();
  }
}

/** The other commands of the package: each prints what it promises. */
function runCommands() {
  const run = (...words) =>
    execFileSync(process.execPath, [join(folder, 'app/node_modules/sluice/bin/sluice.mjs'), ...words], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, SLUICE_HOME: home },
    });
  if (!run('--help').includes('sluice start')) throw new Error('sluice --help does not list start.');
  if (!run('doctor').includes('cpu')) throw new Error('sluice doctor names no provider.');
  if (!run('models', 'add', '--help').includes('models add')) throw new Error('sluice models add has no help.');
  if (!run('models', 'list').includes(values.model)) throw new Error(`sluice models list has no ${values.model}.`);
}

try {
  const tarball = await pack();
  install(tarball);
  await checkVersions(tarball);
  runCommands();
  await runOnce('first start');
  console.log(`after the first start: ${describeSize(maxInstalledBytes)}`);
  await runOnce('second start, offline', { npm_config_registry: nowhere, HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere });
  console.log('passed');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  if (values.keep) console.log(folder);
  else rmSync(folder, { recursive: true, force: true });
}
