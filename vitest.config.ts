import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { generatePrismaClient } from './scripts/generate-prisma.mjs';
import { SlowFirstSequencer } from './test/harness/slow-first.sequencer.js';

// Install scripts are off (.npmrc), so nothing has generated it after `npm ci`.
generatePrismaClient();

/*
 * Eleven projects, distinguished by file name:
 *
 * - `unit`: `*.spec.ts`, pure: no store, no child process
 * - `integration`: `*.int-spec.ts`, a real Postgres and a real Redis, started once per run by the harness
 * - `e2e`: `*.e2e-spec.ts`, the built platform in real processes on tiny models
 * - `faults`: `*.fault-spec.ts`, the same while processes are killed, stores are stopped and requests race for limits
 * - `hosts`: `*.hosts-spec.ts`, the same with every process and store in its own network namespace; needs root
 * - `models`: `*.models-spec.ts`, the same with the real starter weights
 * - `nightly`: `*.nightly-spec.ts`, what takes too long for `.ci/run`, of any kind; `npm run nightly -- tests`
 * - `chains`: `*.chains-spec.ts`, with blockchains on this machine (test/chains); `npm test -- chains`
 * - `wallet-clients`: `*.clients-spec.ts`, with payment clients of others on those chains; `npm test -- wallet-clients`
 * - `console`: `*.console-spec.ts`, the built console in a browser; needs chromium; `npm test -- console`
 * - `k8s`: `*.k8s-spec.ts`, the overlays of k8s/ as rendered by kustomize; `npm test -- k8s`
 */
// Without `module`, the condition of bundlers: packages resolve as in Node.
const conditions = ['sluice-source', 'node', 'development|production'];
/** For tests that decode images, which happens in a child process. */
const setupFiles = ['test/harness/image-decoder.setup.ts'];
const places = '{apps,libs,test,bench,models}/**/*';

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: ['test/harness/setup.ts'],
    // No driver of this machine, so tests mean the same with a GPU and without; those of a device name its driver.
    env: { VK_DRIVER_FILES: 'none' },
    sequence: { sequencer: SlowFirstSequencer },
    // Polled conditions must eventually hold; tests do not assert how soon. The default of one second is too short for
    // a busy machine.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        // One module graph for all files of a worker: reloading the libraries for each file took longer than the tests.
        test: {
          name: 'unit',
          include: [`${places}.spec.ts`],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          isolate: false,
          // The default is one less than the cores.
          maxWorkers: Math.max(2, availableParallelism() - 1),
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          setupFiles,
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
          setupFiles,
          include: [`${places}.e2e-spec.ts`],
          // It publishes TypeScript under our `source` condition, so vite and not plain Node must load it.
          server: { deps: { inline: ['ai', /@ai-sdk\//, 'eventsource-parser'] } },
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // As above: the tests are isolated by the platforms they start.
          isolate: false,
          // Three platforms at once, even on two cores: they mostly wait for locks and deadlines.
          maxWorkers: 3,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          setupFiles,
          include: [`${places}.fault-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 300_000,
          hookTimeout: 180_000,
          isolate: false,
          // Two faults at once in quick runs, which mostly wait. In full runs, each has the machine to itself.
          maxWorkers: process.env.SLUICE_TEST_FAULTS === 'quick' ? 2 : 1,
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
      {
        extends: true,
        test: {
          name: 'nightly',
          setupFiles,
          include: [`${places}.nightly-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 600_000,
          hookTimeout: 900_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'chains',
          setupFiles,
          include: [`${places}.chains-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: 'wallet-clients',
          setupFiles,
          include: [`${places}.clients-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          setupFiles,
          include: [`${places}.console-spec.ts`],
          globalSetup: ['test/harness/global-services.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          isolate: false,
          maxWorkers: 2,
        },
      },
      { extends: true, test: { name: 'k8s', include: [`${places}.k8s-spec.ts`], testTimeout: 30_000 } },
      {
        extends: true,
        test: {
          name: 'models',
          setupFiles,
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
