#!/usr/bin/env node
// `npm run check`: all static checks of the code, and the architecture tests.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { root, runSteps, tool } from './steps.mjs';

const node = process.execPath;
const sources = ['apps', 'libs', 'test', 'bench'].filter((folder) => existsSync(resolve(root, folder)));

const failed = await runSteps([
  { name: 'prisma client', command: [node, resolve(root, 'scripts/generate-prisma.mjs')] },
  {
    name: 'format (prettier)',
    command: [node, tool('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
  },
  {
    name: 'lint (oxlint, type-aware)',
    command: [node, tool('oxlint/bin/oxlint'), '--type-aware', '--quiet'],
  },
  {
    name: 'types (tsc)',
    command: [node, tool('typescript/bin/tsc'), '-p', 'tsconfig.json', '--noEmit', '--incremental', 'false'],
  },
  {
    name: 'module boundaries (dependency-cruiser)',
    command: [
      node,
      tool('dependency-cruiser/bin/dependency-cruise.mjs'),
      '--config',
      '.dependency-cruiser.cjs',
      ...sources,
    ],
  },
  { name: 'advisories', command: [node, resolve(root, 'scripts/check-advisories.mjs')] },
  {
    name: 'style (test/architecture)',
    command: [node, tool('vitest/vitest.mjs'), 'run', '--project', 'unit', 'test/architecture'],
  },
]);
process.exit(failed === 0 ? 0 : 1);
