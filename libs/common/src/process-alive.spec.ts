import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { isProcessAlive } from './process-alive.js';

it('tells a process that runs from one that has ended', () => {
  const { pid } = spawnSync(process.execPath, ['--eval', '']);
  expect([isProcessAlive(process.pid), isProcessAlive(pid)]).toEqual([true, false]);
});
