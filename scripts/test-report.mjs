import { existsSync, readFileSync } from 'node:fs';

const longestMessage = 6;

/**
 * What a JSON report of vitest says: `passed` and `skipped` are counted, of `failures` each has the `name` of its test
 * and the `message` it ended with. A file whose tests were all skipped, or that could not be loaded, is one failure.
 */
export function readTestReport(path) {
  if (!existsSync(path)) return { passed: 0, skipped: [], failures: [{ name: 'no report was written', message: '' }] };
  const read = { passed: 0, skipped: [], failures: [] };
  for (const file of JSON.parse(readFileSync(path, 'utf8')).testResults) {
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
