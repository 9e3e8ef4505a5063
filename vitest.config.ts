import { defineConfig } from 'vitest/config';
import { SlowFirstSequencer } from './test/harness/slow-first.sequencer.js';

/*
 * Seven projects, told apart by the file's name:
 *   unit         *.spec.ts         pure: no store, no child process
 *   integration  *.int-spec.ts     a real Postgres and a real Redis, started once per run by the harness
 *   e2e          *.e2e-spec.ts     the built platform in real processes on tiny models
 *   faults       *.fault-spec.ts   the same while processes are killed, stores stopped and limits raced for
 *   hosts        *.hosts-spec.ts   the same with every process and store in a network namespace of its own; needs root
 *   models       *.models-spec.ts  the same on the real starter weights
 *   k8s          *.k8s-spec.ts     the overlays of k8s/ as kustomize renders them; `npm run k8s:check`
 */
// Without `module`, which bundlers mean by it: packages resolve as Node resolves them.
const conditions = ['sluice-source', 'node', 'development|production'];
const places = '{apps,libs,test,bench,models}/**/*';

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: ['test/harness/setup.ts'],
    sequence: { sequencer: SlowFirstSequencer },
    // What is polled for must come, and no test is about how soon: the usual second is too short for a busy machine.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        // One module graph for all files of a worker: loading the libraries anew for each took longer than the tests.
        test: { name: 'unit', include: [`${places}.spec.ts`], testTimeout: 30_000, isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: [`${places}.int-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: [`${places}.e2e-spec.ts`],
          // Publishes its TypeScript under our `source` condition; plain node must not be the one to load it.
          server: { deps: { inline: ['ai', /@ai-sdk\//, 'eventsource-parser'] } },
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // As above: what tells the tests apart are the platforms that they start.
          isolate: false,
          // Three platforms at once, also on two cores: much of their time they wait for locks and deadlines.
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          include: [`${places}.fault-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 300_000,
          hookTimeout: 180_000,
          isolate: false,
          // Two faults at once, where each is tried a few times: they mostly wait. In full, each has the machine to itself.
          maxWorkers: process.env.SLUICE_FAULTS === 'quick' ? 2 : 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'hosts',
          include: [`${places}.hosts-spec.ts`],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      { extends: true, test: { name: 'k8s', include: [`${places}.k8s-spec.ts`], testTimeout: 30_000 } },
      {
        extends: true,
        test: {
          name: 'models',
          include: [`${places}.models-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 300_000,
          hookTimeout: 900_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
