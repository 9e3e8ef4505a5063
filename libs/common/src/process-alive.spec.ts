import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { isProcessAlive } from './process-alive.js';

it('distinguishes a running process from one that has exited', () => {
  const { pid } = spawnSync(process.execPath, ['--eval', '']);
  expect([isProcessAlive(process.pid), isProcessAlive(pid)]).toEqual([true, false]);
});
