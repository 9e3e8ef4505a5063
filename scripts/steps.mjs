import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeFailure, failedFiles, failuresOf, strayErrorsPath, unsteadyTests } from './test-report.mjs';

/** Root of the checkout, whatever the working directory. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Path of an npm-installed tool; run with `node`, so that no shell and no PATH is needed. */
export const tool = (path) => resolve(root, 'node_modules', path);

/** Runs npm: the one that runs this process, or else that of the PATH. */
export const npmCommand = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];

/**
 * Runs one command with its output passed through, or given to `onOutput`; resolves to its exit code (a signal counts
 * as 1).
 */
export function runCommand([command, ...args], { env = {}, cwd = root, onOutput } = {}) {
  return new Promise((done, fail) => {
    const stdio = onOutput ? ['ignore', 'pipe', 'pipe'] : 'inherit';
    const child = spawn(command, args, { cwd, stdio, env: { ...process.env, ...env } });
    for (const stream of onOutput ? [child.stdout, child.stderr] : []) stream.on('data', onOutput);
    child.once('error', fail);
    child.once(onOutput ? 'close' : 'exit', (code) => done(code ?? 1));
  });
}

/**
 * Installs the packages of a folder with a lockfile of its own, unless that lockfile is installed already. Their install
 * scripts do not run. Resolves to whether they are there.
 */
export async function installPackages(folder) {
  const place = resolve(root, folder);
  const lockfile = readFileSync(resolve(place, 'package-lock.json'), 'utf8');
  const installed = resolve(place, 'node_modules/.installed-lockfile.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lockfile) return true;
  console.log(`== npm ci (${folder})`);
  const options = ['--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', place];
  if ((await runCommand([...npmCommand, 'ci', ...options])) !== 0) return false;
  writeFileSync(installed, lockfile);
  return true;
}

/** Exit code of a program that lacks what it needs here, such as Docker. It has said so. */
export const notRunCode = 77;

/** With more failing files than this the failure is not random, and a second run would only cost time. */
const mostFilesAgain = 3;

/**
 * Runs every step, also after a failure, prints a table of the failed tests, and returns the number of failed steps. A
 * step that does not run counts as failed, unless it is optional.
 * `.ci/run` names a file in SLUICE_TEST_STEP_REPORT and counts the lines written there; `report` is the JSON report of a
 * test step. `again` builds the same step for the failed files, with a report of its own. With `atOnce` above one, steps
 * run beside each other and print what they said when they end.
 */
export async function runSteps(steps, { atOnce = 1 } = {}) {
  const results = [];
  const waiting = [...steps.entries()];
  const runNext = async () => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      const [index, step] = entry;
      results[index] = atOnce === 1 ? await runStep(step) : await runBeside(step);
      await record(results[index]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  console.log('');
  for (const { name, passed, isRun, report, again, seconds } of results) {
    console.log(`${isRun ? (passed ? 'passed ' : 'FAILED ') : 'NOT RUN'} ${name} (${seconds} s)`);
    if (!report) continue;
    for (const test of unsteadyTests(report, again)) console.log(`        unsteady: ${describeFailure(test)}`);
    const failures = passed ? [] : failuresOf(report, again);
    for (const failure of failures) console.log(`        ${describeFailure(failure)}`);
  }
  return results.filter(({ passed, isRun, isOptional }) => !passed && (isRun || !isOptional)).length;
}

async function record({ name, passed, isRun, isOptional, report, again }) {
  const path = process.env.SLUICE_TEST_STEP_REPORT;
  if (path && (isRun || !isOptional)) await appendFile(path, `${JSON.stringify({ name, passed, report, again })}\n`);
}

/** Runs a step without a second run. Its output stays together. */
async function runBeside({ name, isOptional, command, env }) {
  const started = performance.now();
  const output = [];
  const colors = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const code = await runCommand(command, { env: { ...colors, ...env }, onOutput: (text) => output.push(text) });
  console.log(`\n== ${name}\n${Buffer.concat(output).toString()}`.trimEnd());
  return { name, isOptional, ...stateOf(code), seconds: ((performance.now() - started) / 1000).toFixed(1) };
}

async function runStep({ name, isOptional, command, env, report, again }) {
  console.log(`\n== ${name}`);
  const started = performance.now();
  const run = (command, report) =>
    runCommand(command, { env: { ...env, ...(report && { SLUICE_TEST_STRAY_ERRORS: strayErrorsPath(report) }) } });
  let code = await run(command, report);
  const result = { name, isOptional, report, again: undefined };
  if (code !== 0 && report && again) {
    const { files, isElsewhere } = failedFiles(report);
    if (files.length <= mostFilesAgain) {
      console.log(`\n== ${name}: once more, ${isElsewhere ? 'all files' : `alone: ${files.join(', ')}`}`);
      const second = again(isElsewhere ? [] : files);
      code = await run(second.command, second.report);
      result.again = second.report;
    }
  }
  return { ...result, ...stateOf(code), seconds: ((performance.now() - started) / 1000).toFixed(1) };
}

function stateOf(code) {
  return { passed: code === 0, isRun: code !== notRunCode };
}

/** vitest reporters: adds a JSON report in the folder SLUICE_TEST_REPORTS if `.ci/run` sets it. */
export function testReporters(name, shown = 'default') {
  const folder = process.env.SLUICE_TEST_REPORTS;
  if (!folder) return { report: undefined, reporters: [`--reporter=${shown}`] };
  const report = resolve(folder, `${name}.json`);
  const kinds = [shown, 'json', resolve(root, 'scripts/stray-errors.reporter.mjs')];
  return { report, reporters: [...kinds.map((kind) => `--reporter=${kind}`), `--outputFile.json=${report}`] };
}
