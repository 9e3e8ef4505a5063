#!/usr/bin/env node
// `npm test -- k8s`: renders every overlay of k8s/, validates it against schemas, and runs the policies on it.
import { findKustomize } from './kustomize.mjs';
import { requirePromtool } from './promtool.mjs';
import { runSteps, testReporters, tool } from './steps.mjs';

requirePromtool('evaluates the queries of the scalers');

const kustomize = await findKustomize();
console.log(`Rendering with: ${kustomize}`);
const { report, reporters } = testReporters('k8s');
const failed = await runSteps([
  {
    name: 'k8s overlays, schemas and policies',
    command: [process.execPath, tool('vitest/vitest.mjs'), 'run', '--project', 'k8s', ...reporters],
    env: { SLUICE_TEST_KUSTOMIZE: kustomize },
    report,
  },
]);
process.exit(failed === 0 ? 0 : 1);
