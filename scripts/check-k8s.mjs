#!/usr/bin/env node
// `npm test -- k8s`: renders every overlay of k8s/ and the Helm chart, validates them against schemas, and runs the
// policies on them.
import { findHelm, findKustomize } from './kustomize.mjs';
import { requirePromtool } from './promtool.mjs';
import { runSteps, testReporters, tool } from './steps.mjs';

requirePromtool('evaluates the queries of the scalers');

const kustomize = await findKustomize();
const helm = await findHelm();
console.log(`Rendering with: ${kustomize}, ${helm}`);
const { report, reporters } = testReporters('k8s');
const failed = await runSteps([
  {
    name: 'k8s overlays, chart, schemas and policies',
    command: [process.execPath, tool('vitest/vitest.mjs'), 'run', '--project', 'k8s', ...reporters],
    env: { SLUICE_TEST_KUSTOMIZE: kustomize, SLUICE_TEST_HELM: helm },
    report,
  },
]);
process.exit(failed === 0 ? 0 : 1);
