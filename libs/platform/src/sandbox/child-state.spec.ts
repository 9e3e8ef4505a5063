import { expect, it } from 'vitest';
import { residentBytes } from './child-state.js';

it.runIf(process.platform === 'linux')('reads the memory of a process', async () => {
  const bytes = await residentBytes(process.pid);
  expect(bytes / process.memoryUsage.rss()).toBeGreaterThan(0.5);
  expect(bytes / process.memoryUsage.rss()).toBeLessThan(2);
});

it('reads none of a process that does not exist', async () => {
  expect(await residentBytes(2 ** 30)).toBe(0);
  expect(await residentBytes(undefined)).toBe(0);
});
