#!/usr/bin/env node
// `npm test [-- project …]`: builds what is missing, then runs unit, integration and end-to-end tests. `npm run
// test:faults [-- --quick] [f07 …]`: fault tests; a name runs only that fault. `npm run test:hosts`: every process and
// store in a network namespace of its own; needs root and is not part of `.ci/run`. `npm run test:models`: tests on the
// real starter weights, which SLUICE_TEST_HOME keeps between runs. `npm test -- nightly`: what is too long for `.ci/run`.
// `npm run test:chains`: tests on blockchains of this machine; installs the packages of test/chains/programs. `npm run
// test:wallet-clients`: payment clients of others on them; installs those of test/clients/wallets, too.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { installPackages, root, runCommand, runSteps, testReporters, tool } from './steps.mjs';

const node = process.execPath;
const usual = ['unit', 'integration', 'e2e'];
const all = [...usual, 'models', 'faults', 'hosts', 'nightly', 'chains', 'wallet-clients'];

const about = `npm test [-- project …]\nnpm run test:faults [-- --quick] [f07 …]\n
Builds what is missing, then runs tests. Projects: ${all.join(', ')}; default: ${usual.join(', ')}.
Parts of file names can follow one project.`;
const options = { quick: { about: 'shorter fault tests' } };
const { values, words: names } = readCommandLine(about, options, {});
const isQuick = values.quick;
const asked = names.filter((name) => all.includes(name));
const files = names.filter((name) => !all.includes(name));
if (files.length > 0 && asked.length !== 1) {
  console.error(`Unknown project ${files.join(', ')}; expected ${all.join(', ')}. Files can be given for one of them.`);
  process.exit(2);
}
const projects = asked.length > 0 ? asked : usual;

if (!existsSync(resolve(root, 'node_modules/vitest'))) {
  console.log('== npm ci (no packages installed yet)');
  const npm = process.env.npm_execpath ? [node, process.env.npm_execpath] : ['npm'];
  const code = await runCommand([...npm, 'ci', '--loglevel=error', '--no-audit', '--no-fund']);
  if (code !== 0) process.exit(code);
}

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis && projects.some((project) => ['faults', 'hosts'].includes(project))) {
  console.error(
    `The ${projects.join(', ')} tests need a redis-server on the PATH (Debian: apt-get install redis-server).`,
  );
  process.exit(2);
}
if (projects.includes('hosts') && !canMakeHosts()) {
  console.error(
    'NOT RUN: the multi-host tests create network namespaces, which requires root and `ip` (Debian: iproute2).',
  );
  process.exit(2);
}
if (!hasRedis) {
  console.log('redis-server is not on the PATH: the Redis suites are skipped, those on Postgres run.');
}

/** Folders with packages of their own, by the project that needs them. */
const packageFolders = {
  chains: ['test/chains/programs'],
  'wallet-clients': ['test/chains/programs', 'test/clients/wallets'],
};
for (const folder of projects.flatMap((project) => packageFolders[project] ?? [])) {
  if (!(await installPackages(folder))) process.exit(1);
}

// docs/decisions/second-run.md
const hasSecondRun = process.env.SLUICE_TEST_SECOND_RUN === 'true';

const env = isQuick ? { SLUICE_TEST_FAULTS: 'quick' } : {};
if (projects.includes('models') || projects.includes('nightly')) {
  env.SLUICE_TEST_HOME = process.env.SLUICE_TEST_HOME ?? join(homedir(), '.cache', 'sluice-test');
  mkdirSync(env.SLUICE_TEST_HOME, { recursive: true });
  console.log(`Weights are kept in ${env.SLUICE_TEST_HOME} (SLUICE_TEST_HOME).`);
}

/** Tries it: in a container, being root is not enough. */
function canMakeHosts() {
  const probe = `sluice-probe-${process.pid}`;
  const made = ['netns add', `-n ${probe} link add br0 type bridge`].every((words) => {
    const args = words.startsWith('netns') ? [...words.split(' '), probe] : words.split(' ');
    return spawnSync('ip', args).status === 0;
  });
  spawnSync('ip', ['netns', 'del', probe]);
  return made;
}

/** One project of vitest.config.ts. */
function testStep(project) {
  const run = (name, chosen) => {
    const { report, reporters } = testReporters(name);
    const command = [node, tool('vitest/vitest.mjs'), 'run', '--project', project, ...chosen, ...reporters];
    return { command, report };
  };
  const again = hasSecondRun ? (failed) => run(`${project}-again`, ['--no-file-parallelism', ...failed]) : undefined;
  return { name: `${project} tests`, env, ...run(project, files), again };
}

const failed = await runSteps([
  { name: 'build', command: [node, resolve(root, 'scripts/build.mjs')] },
  ...projects.map(testStep),
]);
process.exit(failed === 0 ? 0 : 1);
