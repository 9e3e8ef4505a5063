import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

type Tests = Record<string, 'passed' | 'failed' | 'skipped'>;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-ci-result-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Writes a vitest report of the given files; returns its path. */
function report(name: string, files: Record<string, Tests>): string {
  const testResults = Object.entries(files).map(([file, tests]) => ({
    name: file,
    status: Object.values(tests).includes('failed') ? 'failed' : 'passed',
    assertionResults: Object.entries(tests).map(([fullName, status]) => ({
      fullName,
      status,
      failureMessages: status === 'failed' ? [`${fullName} broke`] : [],
    })),
  }));
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ testResults }));
  return path;
}

interface Step {
  name: string;
  passed: boolean;
  report?: string;
  again?: string;
}

function decisionOn(...steps: Step[]) {
  writeFileSync(join(folder, 'steps.jsonl'), steps.map((step) => `${JSON.stringify(step)}\n`).join(''));
  const { stdout, status } = spawnSync(process.execPath, [join(root, '.ci/count.mjs'), folder], { encoding: 'utf8' });
  return { lines: stdout.split('\n').filter(Boolean), status };
}

describe('the result of .ci/run', () => {
  const first = () =>
    report('first', { steady: { a: 'passed' }, shaken: { b: 'passed', c: 'failed' }, broken: { d: 'failed' } });

  it('counts tests and steps, and names what failed', () => {
    const tests = { name: 'tests', passed: false, report: first() };
    expect(decisionOn({ name: 'lint', passed: true }, { name: 'types', passed: false }, tests)).toEqual({
      lines: [
        'FAILED  types',
        'FAILED  tests: c',
        '          c broke',
        'FAILED  tests: d',
        '          d broke',
        '3 passed, 3 failed',
      ],
      status: 1,
    });
  });

  it('uses the result of a second run, and names what passed only then', () => {
    const again = report('again', { shaken: { b: 'passed', c: 'passed' }, broken: { d: 'failed' } });
    expect(decisionOn({ name: 'tests', passed: false, report: first(), again })).toEqual({
      lines: ['unsteady  tests: c', '          c broke', 'FAILED  tests: d', '          d broke', '3 passed, 1 failed'],
      status: 1,
    });
    const recovered = report('mended', { shaken: { b: 'passed', c: 'passed' }, broken: { d: 'passed' } });
    const { lines, status } = decisionOn({ name: 'tests', passed: true, report: first(), again: recovered });
    expect([lines.at(-1), status]).toEqual(['4 passed, 0 failed', 0]);
  });

  it('lists the files that took long', () => {
    const testResults = [
      { name: join(root, 'quick.spec.ts'), startTime: 0, endTime: 900, assertionResults: [] },
      { name: join(root, 'slow.spec.ts'), startTime: 0, endTime: 12_400, assertionResults: [] },
    ];
    const path = join(folder, 'timed');
    writeFileSync(path, JSON.stringify({ testResults }));
    expect(decisionOn({ name: 'tests', passed: true, report: path }).lines[0]).toBe('   12 s  slow.spec.ts');
  });

  it('keeps the failures of the first run if the second wrote nothing', () => {
    const step = { name: 'tests', passed: false, report: first(), again: join(folder, 'missing') };
    expect(decisionOn(step).lines.at(-1)).toBe('2 passed, 2 failed');
  });

  it('fails when a file ran no test, a report is missing, or a step failed outside of its tests', () => {
    const idle = report('idle', { idle: { e: 'skipped' } });
    const whole = report('whole', { whole: { f: 'passed' } });
    expect(decisionOn({ name: 'tests', passed: true, report: idle }).status).toBe(1);
    expect(decisionOn({ name: 'tests', passed: true, report: join(folder, 'none') }).status).toBe(1);
    expect(decisionOn({ name: 'tests', passed: false, report: whole }).status).toBe(1);
  });
});
