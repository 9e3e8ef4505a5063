#!/usr/bin/env node
// `npm run nightly [-- name …]`: what takes too long for `.ci/run`, one step after another, also after a failure.
import { resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { root, runSteps, tool } from './steps.mjs';

const script = (name, ...args) => [process.execPath, resolve(root, 'scripts', name), ...args];
const source = ['--conditions=sluice-source', '--import', resolve(root, 'test/harness/run-source.mjs')];
const program = (path, ...args) => [process.execPath, ...source, resolve(root, path), ...args];

/** Of mutated files, but those of models that are added, which take longer. */
const readers = ['image', 'audio', 'video', 'document', 'archive', 'manifest', 'body', 'model'].flatMap((name) => [
  '--reader',
  name,
]);

const steps = [
  { name: 'node-versions', command: script('test-node-versions.mjs') },
  { name: 'tests', command: script('test.mjs', 'nightly') },
  { name: 'faults', command: script('test.mjs', 'faults') },
  { name: 'simulation', command: program('test/simulation/main.ts', '--nightly', '--most-minutes', '60') },
  { name: 'schemas', command: program('test/schemas/main.ts') },
  { name: 'hostile', command: program('test/hostile/main.ts') },
  { name: 'mutations', command: program('test/mutations/main.ts', '--files', '10000', ...readers) },
  { name: 'added-models', command: program('test/mutations/main.ts', '--files', '5000', '--reader', 'added') },
  {
    name: 'tokenizers',
    command: [process.execPath, tool('vitest/vitest.mjs'), 'run', '--project', 'unit', 'convert/tokenizer/reference'],
    env: { SLUICE_TEST_TOKENIZER_TEXTS: '5000' },
  },
  { name: 'conversions', command: program('test/conversions/main.ts') },
  { name: 'models', command: script('test.mjs', 'models') },
  { name: 'peak-memory', command: ['npm', 'run', 'bench:peak-memory'] },
  { name: 'soak', command: ['npm', 'run', 'bench:soak'] },
  { name: 'pictogram-training', command: script('train-pictogram.mjs') },
  { name: 'chains', command: script('test.mjs', 'chains') },
  { name: 'wallet-clients', command: script('test.mjs', 'wallet-clients') },
  { name: 'demo-wallets', command: script('demo-wallets.mjs') },
  { name: 'clients', command: script('test-clients.mjs', '--runs', '20') },
];

const known = steps.map(({ name }) => name);
const about = `npm run nightly [-- step …]\n\nRuns what is too long for .ci/run. Steps: ${known.join(', ')}.`;
const { words: names } = readCommandLine(about, {}, { name: 'step', known });

const chosen = names.length === 0 ? steps : steps.filter(({ name }) => names.includes(name));
process.exit((await runSteps(chosen)) === 0 ? 0 : 1);
