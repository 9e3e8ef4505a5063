// Adds up the step and test reports in a folder; the last line is the overall result.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeFailure, failuresOf, readTestReport, slowestFiles, unsteadyTests } from '../scripts/test-report.mjs';

const folder = process.argv[2];
const lines = readFileSync(join(folder, 'steps.jsonl'), 'utf8').split('\n').filter(Boolean);
let passedCount = 0;
const failures = [];

function countTests({ name, passed, report, again }) {
  const read = readTestReport(report, again);
  passedCount += read.passed;
  const failed = passed ? read.failures : failuresOf(report, again);
  for (const failure of failed) failures.push(`${name}: ${describeFailure(failure)}`);
  for (const test of unsteadyTests(report, again)) console.log(`unsteady  ${name}: ${describeFailure(test)}`);
  for (const skipped of read.skipped) console.log(`skipped  ${name}: ${skipped}`);
}

for (const step of lines.map((line) => JSON.parse(line))) {
  if (step.report) countTests(step);
  else if (step.passed) passedCount += 1;
  else failures.push(step.name);
}

const reports = lines.flatMap((line) => JSON.parse(line).report ?? []);
for (const { name, seconds } of slowestFiles(reports)) console.log(`${String(seconds).padStart(5)} s  ${name}`);

console.log('');
for (const failure of failures) console.log(`FAILED  ${failure}`);
console.log(`${passedCount} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
