// Adds up the step and test reports in a folder; the last line is the overall result.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeFailure, readTestReport, unsteadyTests } from '../scripts/test-report.mjs';

const folder = process.argv[2];
const lines = readFileSync(join(folder, 'steps.jsonl'), 'utf8').split('\n').filter(Boolean);
let passedCount = 0;
const failures = [];

function countTests({ name, passed, report, again }) {
  const read = readTestReport(report, again);
  passedCount += read.passed;
  for (const failure of read.failures) failures.push(`${name}: ${describeFailure(failure)}`);
  for (const test of unsteadyTests(report, again)) console.log(`unsteady  ${name}: ${describeFailure(test)}`);
  for (const skipped of read.skipped) console.log(`skipped  ${name}: ${skipped}`);
  if (!passed && read.failures.length === 0) failures.push(`${name}: failed with an error outside of its tests`);
}

for (const step of lines.map((line) => JSON.parse(line))) {
  if (step.report) countTests(step);
  else if (step.passed) passedCount += 1;
  else failures.push(step.name);
}

console.log('');
for (const failure of failures) console.log(`FAILED  ${failure}`);
console.log(`${passedCount} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
