import { existsSync, readFileSync } from 'node:fs';

const longestMessage = 6;

/**
 * Reads a JSON report of vitest: counts of `passed` and `skipped`, and `failures` with the `name` of each test and its
 * `message`. A file whose tests were all skipped, or that could not be loaded, is one failure. For files in `again`,
 * the report of a second run, that result counts.
 */
export function readTestReport(path, again) {
  if (!existsSync(path)) return { passed: 0, skipped: [], failures: [{ name: 'no report was written', message: '' }] };
  const second = again && existsSync(again) ? filesOf(again) : [];
  const seenAgain = new Set(second.map(({ name }) => name));
  return readFiles([...filesOf(path).filter(({ name }) => !seenAgain.has(name)), ...second]);
}

/** Paths of the files with failures. */
export function failedFiles(path) {
  const files = existsSync(path) ? filesOf(path) : [];
  return files.filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/** Failures of the first run of a step that passed in the second. */
export function unsteadyTests(path, again) {
  if (!again) return [];
  const left = new Set(readTestReport(path, again).failures.map(({ name }) => name));
  return readTestReport(path).failures.filter(({ name }) => !left.has(name));
}

function filesOf(path) {
  return JSON.parse(readFileSync(path, 'utf8')).testResults;
}

function readFiles(files) {
  const read = { passed: 0, skipped: [], failures: [] };
  for (const file of files) {
    const of = (...states) => file.assertionResults.filter(({ status }) => states.includes(status));
    read.passed += of('passed').length;
    for (const { fullName, failureMessages } of of('failed')) {
      read.failures.push({ name: fullName, message: shorten(failureMessages?.[0]) });
    }
    const skipped = of('skipped', 'pending', 'todo', 'disabled');
    if (file.assertionResults.length === skipped.length) {
      read.failures.push({ name: `${file.name} ran no test`, message: shorten(file.message) });
    } else {
      read.skipped.push(...skipped.map(({ fullName }) => fullName));
    }
  }
  return read;
}

/** Lines with the error and its location; the rest of a stack only fills the log. */
function shorten(message = '') {
  return message.split('\n').filter(Boolean).slice(0, longestMessage).join('\n');
}

/** Formats one failure for a table: its name, and its message indented below. */
export function describeFailure({ name, message }) {
  return [name, ...message.split('\n').filter(Boolean)].join('\n          ');
}
