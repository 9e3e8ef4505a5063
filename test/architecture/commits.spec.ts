import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* Commit subjects: at most 72 characters, which git shows without wrapping. */

const maxLength = 72;
/** Commits before this one are as they are. */
const marker = 'Check commit subjects in a hook and a test';
const maxCommits = 100;

/** Subjects that are too long. */
function longSubjects(subjects: readonly string[]): string[] {
  return subjects.filter((subject) => [...subject].length > maxLength);
}

/** Subjects of the last commits, the newest first, without merges and without those before the marker. */
function recentSubjects(): string[] {
  const args = ['-C', root, 'log', '--no-merges', `--max-count=${maxCommits}`, '--format=%s'];
  const subjects = execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
  const end = subjects.indexOf(marker);
  // Without the marker it is more than 100 commits ago, or this copy has a short history.
  return end === -1 ? subjects.slice(0, isShort() ? 0 : undefined) : subjects.slice(0, end + 1);
}

/** A shallow clone, or a repository from before the marker. */
function isShort(): boolean {
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
  return git('log', '--no-merges', '--max-count=1', '--format=%s', `--grep=^${marker}$`) === '';
}

describe('commit subjects', () => {
  it('have at most 72 characters', () => {
    expect(longSubjects(recentSubjects())).toEqual([]);
  });

  it('are checked: a long subject is found', () => {
    const subjects = ['Add a check', 'x'.repeat(72), 'é'.repeat(72), 'x'.repeat(73)];
    expect(longSubjects(subjects)).toEqual(['x'.repeat(73)]);
  });
});

describe('the commit-msg hook', () => {
  let clone: string;
  const git = (...args: string[]) =>
    spawnSync('git', ['-C', clone, '-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      encoding: 'utf8',
    });
  const install = (environment: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(root, 'scripts/install-hooks.mjs'), clone], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: clone, ...environment },
    });
  const hooksPath = () => git('config', '--local', 'core.hooksPath').stdout.trim();

  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), 'sluice-clone-'));
    git('init', '-q');
    mkdirSync(join(clone, '.githooks'));
    spawnSync('cp', [join(root, '.githooks/commit-msg'), join(clone, '.githooks/commit-msg')]);
  });
  afterEach(() => rmSync(clone, { recursive: true }));

  it('is installed in a clone and refuses a long subject, by its length', () => {
    expect(install()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(hooksPath()).toBe('.githooks');
    const commit = (message: string) => git('commit', '--allow-empty', '-q', '-m', message);
    expect(commit(`${'x'.repeat(73)}\n\nbody`)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('The subject has 73 characters') as string,
    });
    expect(commit(`${'é'.repeat(72)}\n\n${'a long line of the body '.repeat(9)}`).status).toBe(0);
    expect(commit(`fixup! ${'x'.repeat(72)}`).status).toBe(0);
  });

  it('is not installed in CI, outside of a clone, or over hooks that are there', () => {
    expect(install({ CI: 'true' }).status).toBe(0);
    expect(hooksPath()).toBe('');
    git('config', '--local', 'core.hooksPath', 'mine');
    expect(install().status).toBe(0);
    expect(hooksPath()).toBe('mine');
    rmSync(join(clone, '.git'), { recursive: true });
    writeFileSync(join(clone, '.git-is-gone'), '');
    expect(install()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  it('does not fail an install on a machine without git', () => {
    expect(install({ PATH: '/nowhere' })).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});
