#!/usr/bin/env node
// `sluice start` runs everything on this machine (apps/local), `sluice worker` a worker (apps/worker); everything else is
// the operator's command line (apps/cli). An installed package is built already. A clone is installed and built first
// where needed.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { requireNode } from './require-node.mjs';
import { trimRuntime } from './trim-runtime.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [command, ...rest] = process.argv.slice(2);
/** The package contains no sources. */
const isClone = existsSync(join(root, 'tsconfig.json'));

const startUsage = `Usage: sluice start

Runs everything on this machine: PostgreSQL, api, worker, ops and the starter models. Ctrl-C stops it.

Environment: PORT, HOST, SLUICE_HOME (data folder, default ~/.sluice), SLUICE_MODELS, DATABASE_URL and more, which
docs/reference/configuration.md of the repository lists.`;

const workerUsage = `Usage: sluice worker

Runs a worker, for queues of other machines. Ctrl-C stops it after its jobs.

Environment: SLUICE_QUEUE_URL and SLUICE_QUEUE_KEY, as sluice pools credentials prints them, SLUICE_POOL, SLUICE_MODELS,
SLUICE_HOME (data folder, default ~/.sluice) and more, which docs/reference/configuration.md of the repository lists.`;

function mainOf(app) {
  return join(root, 'dist', 'apps', app, 'src', 'main.js');
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

async function runApp(app) {
  if (!existsSync(mainOf(app))) fail('This package has no dist/: it was packed without `npm run package`.');
  await import(pathToFileURL(mainOf(app)).href);
}

/** Runs an app that serves, after what its first start needs. */
async function serve(app, usage) {
  if (rest.includes('--help') || rest.includes('-h')) return console.log(usage);
  if (rest.length > 0) fail(`sluice ${command} takes no arguments, not "${rest.join(' ')}".\n\n${usage}`);
  // Only the first start finds something to install, build or delete.
  if (isClone) await (await import('../scripts/prepare-start.mjs')).prepareStart();
  else trimRuntime();
  await runApp(app);
}

async function prepareClone() {
  if (!existsSync(join(root, 'node_modules'))) fail('Sluice is not installed yet. Run: npm ci');
  const { buildForStart, isBuildStale } = await import('../scripts/build.mjs');
  if (existsSync(mainOf('cli'))) {
    // A product that runs loads files of the build: only a start may replace them.
    if (isBuildStale())
      console.error('The sources changed since the build, which runs here. Build again: npm run build');
    return;
  }
  console.error('Building …');
  try {
    await buildForStart();
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error} Run: npm run build`);
  }
}

requireNode();
if (command === 'start') {
  await serve('local', startUsage);
} else if (command === 'worker') {
  await serve('worker', workerUsage);
} else {
  if (isClone) await prepareClone();
  await runApp('cli');
}
