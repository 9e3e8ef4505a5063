// Adds up what the steps and the test reports in a folder say; the last line is the verdict.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
const lines = readFileSync(join(folder, 'steps.jsonl'), 'utf8').split('\n').filter(Boolean);
const totals = { passed: 0, failed: 0 };
const failures = [];

function fail(what) {
  totals.failed += 1;
  failures.push(what);
}

/** Counts the tests of one report. A file whose tests were all skipped counts as one failure: here all suites run. */
function countTests({ name, passed, report }) {
  if (!existsSync(report)) return fail(`${name}: no report was written`);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  let failed = 0;
  for (const file of testResults) {
    const of = (...states) => file.assertionResults.filter(({ status }) => states.includes(status));
    totals.passed += of('passed').length;
    for (const { fullName } of of('failed')) {
      failed += 1;
      fail(`${name}: ${fullName}`);
    }
    const skipped = of('skipped', 'pending', 'todo', 'disabled');
    if (file.assertionResults.length === skipped.length) {
      failed += 1;
      fail(`${name}: ${file.name} ran no test${file.message ? `: ${file.message}` : ''}`);
    } else {
      for (const { fullName } of skipped) console.log(`skipped  ${name}: ${fullName}`);
    }
  }
  if (!passed && failed === 0) fail(`${name}: ended with an error outside of its tests`);
}

for (const step of lines.map((line) => JSON.parse(line))) {
  if (step.report) countTests(step);
  else if (step.passed) totals.passed += 1;
  else fail(step.name);
}

console.log('');
for (const failure of failures) console.log(`FAILED  ${failure}`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed === 0 ? 0 : 1;
