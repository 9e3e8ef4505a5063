/** Projects of vitest.config.ts that `npm test -- <suite …>` runs; `npm test` runs the first three. */
export const projects = {
  unit: '*.spec.ts: no store, no child process',
  integration: '*.int-spec.ts: a real PostgreSQL and a real Redis',
  e2e: '*.e2e-spec.ts: the built platform on tiny models',
  faults: '*.fault-spec.ts: the same, while processes are killed and stores are stopped (--quick: a part)',
  console: '*.console-spec.ts: the built console in chromium (--screenshots DIR: also images of every view)',
  hosts: '*.hosts-spec.ts: the same, every process in a network namespace of its own; needs root',
  models: '*.models-spec.ts: the same on the starter weights, kept in SLUICE_TEST_HOME',
  nightly: '*.nightly-spec.ts: what is too long for .ci/run',
  chains: '*.chains-spec.ts: on blockchains of this machine; installs test/chains/programs',
  'wallet-clients': '*.clients-spec.ts: payment clients of others on them; installs test/clients/wallets',
};

/** Suites that are programs with options of their own: `npm test -- <suite> --help` lists them. */
export const programs = {
  k8s: 'renders every overlay of k8s/ and the chart, validates them against schemas and runs the policies',
  alerts: 'tests each alert with promtool: on series that must fire it and on series that must not',
  clients: 'client libraries against TinyLlama; every response must be valid',
  simulation: 'interleavings of processes, queue and database from seeds',
  schemas: '2,000 random schemas; what a model of random weights writes for them must be valid',
  hostile: 'hostile and random schemas, patterns and grammars; none may block the event loop',
  mutations: 'mutated files of every format through every decoder',
  conversions: 'converts files of 70 GB, whose weights are holes, in 1.5 GB of memory',
  'node-versions': 'the unit tests on other versions of Node',
  quickstart: 'every command of docs/start/quickstart.md, with a second machine and a hub on this one',
  site: 'the site of the documentation: built, searched and read in chromium; installs tools/site',
  package: 'the npm package in an empty folder: installed, started, asked, started again offline',
};
