import { existsSync, readFileSync } from 'node:fs';

const longestMessage = 6;

/**
 * What a JSON report of vitest says: `passed` and `skipped` are counted, of `failures` each has the `name` of its test
 * and the `message` it ended with. A file whose tests were all skipped, or that could not be loaded, is one failure.
 * Files that `again`, the report of a second run, knows as well count as that one says.
 */
export function readTestReport(path, again) {
  if (!existsSync(path)) return { passed: 0, skipped: [], failures: [{ name: 'no report was written', message: '' }] };
  const second = again && existsSync(again) ? filesOf(again) : [];
  const seenAgain = new Set(second.map(({ name }) => name));
  return readFiles([...filesOf(path).filter(({ name }) => !seenAgain.has(name)), ...second]);
}

/** Paths of the files that hold what failed. */
export function failedFiles(path) {
  const files = existsSync(path) ? filesOf(path) : [];
  return files.filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/** What failed in the first run of a step and did not in the second. */
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

/** The lines that say what happened and where; the rest of a stack only fills the log. */
function shorten(message = '') {
  return message.split('\n').filter(Boolean).slice(0, longestMessage).join('\n');
}

/** One failure as the lines of a table: its name, and under it, set in, what it said. */
export function describeFailure({ name, message }) {
  return [name, ...message.split('\n').filter(Boolean)].join('\n          ');
}
