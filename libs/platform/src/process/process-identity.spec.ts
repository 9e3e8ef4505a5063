import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ownIdentity, processStart, processState } from './process-identity.js';

const knowsStarts = process.platform !== 'win32';

it('knows a running process, and one that has ended', async () => {
  const own = await ownIdentity();
  expect(await processState(own)).toBe(knowsStarts ? 'running' : 'unsure');
  const { pid } = spawnSync(process.execPath, ['--eval', '']);
  expect(await processState({ pid })).toBe('gone');
  for (const pid of [Number.NaN, 0, -1, 1.5]) expect(await processState({ pid }), String(pid)).toBe('gone');
});

it.runIf(knowsStarts)('distinguishes a process from an earlier one with the same id', async () => {
  const parent = { pid: process.ppid, started: (await processStart(process.ppid)) ?? '' };
  expect(await processState(parent)).toBe('running');
  expect(await processState({ ...parent, started: 'another boot 123' })).toBe('gone');
  expect(await processState({ pid: process.ppid })).toBe('unsure');
});

it.runIf(process.platform === 'linux')('does not take a zombie for a running process', async () => {
  // The shell becomes a program that never waits for the child of the shell.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await expect.poll(() => readFile(`/proc/${pid}/stat`, 'latin1')).toContain(') Z ');
    expect(await processState({ pid })).toBe('gone');
  } finally {
    parent.kill('SIGKILL');
  }
});
