import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { LinuxMemoryReader } from './memory-reader.js';

it.runIf(process.platform === 'linux')('reads what a process holds, and nothing of one that is gone', async () => {
  const held = 300 * 2 ** 20;
  const child = spawn(process.execPath, [
    '-e',
    `global.x = Buffer.alloc(${held}, 1); console.log(1); setInterval(() => 0, 1e6)`,
  ]);
  await once(child.stdout, 'data');
  const reader = new LinuxMemoryReader();
  const bytes = (await reader.privateBytes(child.pid ?? 0)) ?? 0;
  expect(bytes).toBeGreaterThan(held);
  expect(bytes).toBeLessThan(held + 200 * 2 ** 20);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await reader.privateBytes(child.pid ?? 0)).toBeNull();
});
