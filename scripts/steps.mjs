import { spawn } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeFailure, readTestReport } from './test-report.mjs';

/** The checkout, wherever the caller stands. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** Path of a tool that npm installed here; started with `node`, so that no shell and no PATH is needed. */
export const tool = (path) => resolve(root, 'node_modules', path);

/** Runs one command with its output passed through; resolves to its exit code (a signal counts as 1). */
export function runCommand([command, ...args], { env = {}, cwd = root } = {}) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } });
    child.once('error', fail);
    child.once('exit', (code) => done(code ?? 1));
  });
}

/**
 * Runs every step, also after a failure, and ends with a table that names the tests which failed. Answers the number
 * of failed steps.
 * `.ci/run` names a file in SLUICE_STEP_REPORT and counts the lines written there; `report` is the JSON report of a
 * step that runs tests.
 */
export async function runSteps(steps) {
  const results = [];
  for (const { name, command, env, report } of steps) {
    console.log(`\n== ${name}`);
    const started = performance.now();
    const code = await runCommand(command, { env });
    results.push({ name, code, report, seconds: ((performance.now() - started) / 1000).toFixed(1) });
    if (process.env.SLUICE_STEP_REPORT) {
      await appendFile(process.env.SLUICE_STEP_REPORT, `${JSON.stringify({ name, passed: code === 0, report })}\n`);
    }
  }
  console.log('');
  for (const { name, code, report, seconds } of results) {
    console.log(`${code === 0 ? 'passed' : 'FAILED'}  ${name} (${seconds} s)`);
    const failures = code !== 0 && report ? readTestReport(report).failures : [];
    for (const failure of failures) console.log(`        ${describeFailure(failure)}`);
  }
  return results.filter(({ code }) => code !== 0).length;
}

/** Reporters of vitest: also a JSON report into the folder SLUICE_TEST_REPORTS, when `.ci/run` names one. */
export function testReporters(name, shown = 'default') {
  const folder = process.env.SLUICE_TEST_REPORTS;
  if (!folder) return { report: undefined, reporters: [`--reporter=${shown}`] };
  const report = resolve(folder, `${name}.json`);
  return { report, reporters: [`--reporter=${shown}`, '--reporter=json', `--outputFile.json=${report}`] };
}
