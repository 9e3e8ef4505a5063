import { resolve } from 'node:path';
import { root, tool } from './steps.mjs';

const script = (name, ...args) => [process.execPath, resolve(root, 'scripts', name), ...args];
const suite = (...args) => script('test.mjs', ...args);

/** Of mutated files, but those of models that are added, which take longer. */
const readers = ['image', 'audio', 'video', 'document', 'archive', 'manifest', 'body', 'model'].flatMap((name) => [
  '--reader',
  name,
]);

/** What is too long for `.ci/run`, in the order in which it runs. */
export const nightlySteps = [
  {
    name: 'package',
    about: 'the npm package in an empty folder: installed, started, asked, started again offline',
    command: suite('package'),
  },
  { name: 'images', about: 'the images, built and run with Docker or buildah', command: script('images.mjs') },
  { name: 'node-versions', about: 'unit tests on Node 22 and 24', command: suite('node-versions') },
  { name: 'tests', about: 'tests that are too long for .ci/run (*.nightly-spec.ts)', command: suite('nightly') },
  {
    name: 'full',
    about: 'every integration and e2e test, on both queues',
    command: suite('integration', 'e2e'),
    env: { SLUICE_TEST_FULL: 'true' },
  },
  {
    name: 'half-floats',
    about: 'suites of devices on a software Vulkan that computes in half floats',
    command: suite('integration', 'sessions.int', 'kept-cache', 'scheduler/device', 'merged-decoder'),
    env: { SLUICE_TEST_HALF_FLOATS: 'true' },
  },
  { name: 'faults', about: 'all faults in full', command: suite('faults') },
  {
    name: 'simulation',
    about: 'a million interleavings of processes, other seeds every day',
    command: suite('simulation', '--nightly', '--most-minutes', '60'),
  },
  { name: 'schemas', about: 'random schemas; every text must be valid', command: suite('schemas') },
  { name: 'hostile', about: 'hostile schemas, patterns and grammars', command: suite('hostile') },
  {
    name: 'mutations',
    about: '10,000 mutated files of each format',
    command: suite('mutations', '--files', '10000', ...readers),
  },
  {
    name: 'added-models',
    about: '5,000 mutated files of each format of models',
    command: suite('mutations', '--files', '5000', '--reader', 'added'),
  },
  {
    name: 'tokenizers',
    about: 'converted tokenizers on 5,000 texts against their reference',
    command: [process.execPath, tool('vitest/vitest.mjs'), 'run', '--project', 'unit', 'convert/tokenizer/reference'],
    env: { SLUICE_TEST_TOKENIZER_TEXTS: '5000' },
  },
  { name: 'conversions', about: 'converts files of 70 GB in 1.5 GB of memory', command: suite('conversions') },
  {
    name: 'models',
    about: 'the starter weights',
    command: suite('models'),
    env: { SLUICE_TEST_FULL: 'true' },
  },
  { name: 'peak-memory', about: 'peak memory of every family', command: script('bench.mjs', 'peak-memory') },
  { name: 'soak', about: 'memory of every process over minutes of load', command: script('bench.mjs', 'soak') },
  {
    name: 'pictogram-training',
    about: 'a tiny training of the bundled image model, if Python has the packages',
    command: script('train-pictogram.mjs'),
  },
  { name: 'chains', about: 'wallets and node calls on local blockchains', command: suite('chains') },
  { name: 'wallet-clients', about: 'payment clients of others on those chains', command: suite('wallet-clients') },
  { name: 'demo', about: 'wallets that pay, chat and call a node', command: script('demo-wallets.mjs') },
  { name: 'clients', about: 'client libraries against TinyLlama', command: suite('clients', '--runs', '20') },
];
