#!/usr/bin/env node
// `npm run k8s:check`: renders every overlay of k8s/, validates it against schemas, and runs the policies on it.
import { spawnSync } from 'node:child_process';
import { findKustomize } from './kustomize.mjs';
import { runSteps, testReporters, tool } from './steps.mjs';

if (spawnSync(process.env.PROMTOOL ?? 'promtool', ['--version']).status !== 0) {
  console.error(
    'promtool, which the queries of the scalers are put to, is not on the PATH (Debian: apt-get install --no-install-recommends prometheus; or PROMTOOL).',
  );
  process.exit(2);
}

const kustomize = await findKustomize();
console.log(`Rendering with: ${kustomize}`);
const { report, reporters } = testReporters('k8s');
const failed = await runSteps([
  {
    name: 'k8s overlays, schemas and policies',
    command: [process.execPath, tool('vitest/vitest.mjs'), 'run', '--project', 'k8s', ...reporters],
    env: { SLUICE_KUSTOMIZE: kustomize },
    report,
  },
]);
process.exit(failed === 0 ? 0 : 1);
