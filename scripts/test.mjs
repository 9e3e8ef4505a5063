#!/usr/bin/env node
// `npm test [-- suite …]`: builds what is missing, then runs unit, integration and end-to-end tests, or the named suites.
// `npm test -- --help` lists them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { installHooks } from './install-hooks.mjs';
import { listNames } from './programs.mjs';
import { installPackages, notRunCode, npmCommand, root, runCommand, runSteps, testReporters, tool } from './steps.mjs';
import { programs, projects as knownProjects } from './suites.mjs';

installHooks();
const node = process.execPath;
const defaultProjects = ['unit', 'integration', 'e2e'];

const [first, ...rest] = process.argv.slice(2);
if (first !== undefined && Object.hasOwn(programs, first)) process.exit(await runProgram(first, rest));

const about = `npm test [-- suite …]
npm test -- <suite> [part of a file name …]
npm test -- <suite> [options]

Builds what is missing, then runs tests; default: ${defaultProjects.join(', ')}.

${listNames(knownProjects)}

Suites with options of their own (\`npm test -- <suite> --help\`):

${listNames(programs)}`;
const options = {
  quick: { about: 'shorter fault tests' },
  screenshots: { value: 'DIR', about: 'console: also writes an image of every view there' },
  documented: { about: 'with --screenshots: only the images that docs/guides/console-views.md shows' },
};
const { values, words } = readCommandLine(about, options, {});
const isQuick = values.quick;
const named = words.filter((word) => Object.hasOwn(knownProjects, word));
const files = words.filter((word) => !Object.hasOwn(knownProjects, word));
if (files.length > 0 && named.length !== 1) {
  const known = [...Object.keys(knownProjects), ...Object.keys(programs)].join(', ');
  console.error(`Unknown suite ${files.join(', ')}; expected ${known}. File names can follow one of the first nine.`);
  process.exit(2);
}
const projects = named.length > 0 ? named : defaultProjects;

if (!existsSync(resolve(root, 'node_modules/vitest'))) {
  console.log('== npm ci (no packages installed yet)');
  const code = await runCommand([...npmCommand, 'ci', '--loglevel=error', '--no-audit', '--no-fund']);
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
  process.exit(notRunCode);
}
if (!hasRedis) {
  console.log('redis-server is not on the PATH: the Redis suites are skipped, those on Postgres run.');
}

if (projects.includes('console') && spawnSync('chromium', ['--version']).status !== 0) {
  console.error('NOT RUN: the tests of the console need a browser (Debian: apt-get install chromium).');
  process.exit(notRunCode);
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
if (values.screenshots !== null) {
  env.SLUICE_TEST_SCREENSHOTS = resolve(values.screenshots);
  mkdirSync(env.SLUICE_TEST_SCREENSHOTS, { recursive: true });
  if (values.documented) env.SLUICE_TEST_SCREENSHOTS_SET = 'documented';
}
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

/** Runs a suite that is a program, which reads its own options. */
function runProgram(name, args) {
  const scripts = {
    k8s: 'check-k8s',
    alerts: 'check-alerts',
    clients: 'test-clients',
    'node-versions': 'test-node-versions',
    package: 'test-package',
  };
  if (Object.hasOwn(scripts, name)) return runCommand([node, resolve(root, `scripts/${scripts[name]}.mjs`), ...args]);
  const source = ['--conditions=sluice-source', '--import', resolve(root, 'test/harness/run-source.mjs')];
  return runCommand([node, ...source, resolve(root, `test/${name}/main.ts`), ...args]);
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
