import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

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

/** Paths of the `files` with failures, and whether some failure `isElsewhere`: in no file, or in none that is known. */
export function failedFiles(path) {
  const failed = existsSync(path) ? filesOf(path).filter(({ status }) => status === 'failed') : [];
  const places = [...failed.map(({ name }) => name), ...strayErrorsOf(path).map(({ file }) => file)];
  const files = [...new Set(places.filter((place) => place !== null))];
  return { files, isElsewhere: places.includes(null) || files.length === 0 };
}

/** Failures of the first run of a step that passed in the second. */
export function unsteadyTests(path, again) {
  if (!again) return [];
  const left = new Set(namedFailures(path, again).map(({ name }) => name));
  return failuresOf(path).filter(({ name }) => !left.has(name));
}

/** The failures of a failed step, at least one: those of its report, and errors outside of any test in its last run. */
export function failuresOf(path, again) {
  const failures = namedFailures(path, again);
  return failures.length > 0 ? failures : [{ name: 'failed, but no test did', message: 'Its output says why.' }];
}

function namedFailures(path, again) {
  return [...readTestReport(path, again).failures, ...strayErrorsOf(again ?? path).map(describeStrayError)];
}

/** The test files of several reports that took 10 seconds or more, the slowest first. */
export function slowestFiles(paths, count = 25) {
  const files = paths.filter(existsSync).flatMap(filesOf);
  const timed = files.map(({ name, startTime, endTime }) => ({
    name: relative(process.cwd(), name),
    seconds: Math.round((endTime - startTime) / 1000),
  }));
  return timed
    .filter(({ seconds }) => seconds >= 10)
    .sort((left, right) => right.seconds - left.seconds)
    .slice(0, count);
}

/** Where the stray errors of a step are noted: those outside of any test, which its report omits. */
export const strayErrorsPath = (report) => `${report}.stray-errors`;

function strayErrorsOf(report) {
  const path = strayErrorsPath(report);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [];
}

function describeStrayError({ file, message }) {
  return { name: `an error outside of any test, in ${file ?? 'no file'}`, message: shorten(message) };
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
    if (file.status === 'failed' && of('failed').length === 0 && file.assertionResults.length > 0) {
      read.failures.push({ name: `${file.name} failed in a hook`, message: shorten(file.message) });
    }
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
