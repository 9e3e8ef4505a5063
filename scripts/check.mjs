#!/usr/bin/env node
// `npm run check [-- name …]`: all static checks of the code, and the architecture tests; `npm run lint`: one of them.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { installHooks } from './install-hooks.mjs';
import { root, runSteps, tool } from './steps.mjs';

installHooks();
const node = process.execPath;
const sources = ['apps', 'libs', 'test', 'bench'].filter((folder) => existsSync(resolve(root, folder)));

const steps = {
  prisma: { name: 'prisma client', command: [node, resolve(root, 'scripts/generate-prisma.mjs')] },
  boundaries: {
    name: 'module boundaries (dependency-cruiser)',
    command: [
      node,
      tool('dependency-cruiser/bin/dependency-cruise.mjs'),
      '--config',
      '.dependency-cruiser.cjs',
      ...sources,
    ],
  },
  format: {
    name: 'format (prettier)',
    command: [node, tool('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
  },
  lint: {
    name: 'lint (oxlint, type-aware)',
    command: [node, tool('oxlint/bin/oxlint'), '--type-aware', '--quiet'],
  },
  types: {
    name: 'types (tsc)',
    command: [node, tool('typescript/bin/tsc'), '-p', 'tsconfig.json', '--noEmit', '--incremental', 'false'],
  },
  'console-types': {
    name: 'types of apps/console (tsc)',
    command: [node, tool('typescript/bin/tsc'), '-p', 'apps/console/tsconfig.json'],
  },
  advisories: { name: 'advisories', command: [node, resolve(root, 'scripts/check-advisories.mjs')] },
  style: {
    name: 'style (test/architecture)',
    command: [node, tool('vitest/vitest.mjs'), 'run', '--project', 'unit', 'test/architecture'],
  },
};

const known = Object.keys(steps);
const about = `npm run check [-- name …]\n\nAll static checks, or those named: ${known.join(', ')}.`;
const options = { without: { value: 'NAME', about: 'leaves a check out', isRepeated: true } };
const { values, words: names } = readCommandLine(about, options, { name: 'check', known });
const unknown = values.without.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown check ${unknown.join(', ')}; expected ${known.join(', ')}.`);
  process.exit(2);
}
const chosen = known
  .filter((name) => (names.length === 0 || names.includes(name)) && !values.without.includes(name))
  .map((name) => steps[name]);
// The others read the client, or its types.
const isFirst = (step) => step === steps.prisma;
const failed = await runSteps(chosen.filter(isFirst));
const failedBeside = await runSteps(
  chosen.filter((step) => !isFirst(step)),
  { atOnce: 2 },
);
process.exit(failed + failedBeside === 0 ? 0 : 1);
