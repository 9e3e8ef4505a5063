import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* How a run of steps says which of them passed, failed, or did not run because this machine lacks a program. */

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-steps-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Runs steps that end with these codes; returns the lines after them, what was recorded, and how many count as failed. */
function run(codes: Record<string, number>, { isOptional, atOnce = 1 }: { isOptional: boolean; atOnce?: number }) {
  const steps = Object.entries(codes).map(([name, code]) => ({
    name,
    isOptional,
    command: [process.execPath, '-e', `process.exit(${code})`],
  }));
  const module = pathToFileURL(join(root, 'scripts/steps.mjs')).href;
  const program = `
    const { runSteps } = await import(${JSON.stringify(module)});
    console.log('failed: ' + (await runSteps(${JSON.stringify(steps)}, { atOnce: ${atOnce} })));
  `;
  const report = join(folder, 'steps.jsonl');
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, SLUICE_TEST_STEP_REPORT: report },
  });
  const lines = stdout.split('\n').filter((line) => /^(passed|FAILED|NOT RUN|failed:) /.test(line));
  const recorded = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : [];
  return {
    lines: lines.map((line) => line.replace(/ \([\d.]+ s\)$/, '')),
    recorded: recorded.map((line) => JSON.parse(line) as { name: string; passed: boolean }),
  };
}

describe('a step that lacks a program', () => {
  it.each([1, 2])('is no step that passed, %i at once', (atOnce) => {
    expect(run({ one: 0, two: 77, three: 1 }, { isOptional: true, atOnce })).toEqual({
      lines: ['passed  one', 'NOT RUN two', 'FAILED  three', 'failed: 1'],
      recorded: [
        { name: 'one', passed: true },
        { name: 'three', passed: false },
      ],
    });
  });

  it('counts as failed when a command names it', () => {
    expect(run({ one: 0, two: 77 }, { isOptional: false })).toEqual({
      lines: ['passed  one', 'NOT RUN two', 'failed: 1'],
      recorded: [
        { name: 'one', passed: true },
        { name: 'two', passed: false },
      ],
    });
  });
});
