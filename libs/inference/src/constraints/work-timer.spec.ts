import { expect, it } from 'vitest';
import { WorkTimer } from './work-timer.js';

it('does not count time in which the process does not run', () => {
  const timer = new WorkTimer();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  expect(timer.elapsedMs).toBeGreaterThan(150);
  expect(timer.exceeds(150)).toBe(false);
});

it('counts work', () => {
  const timer = new WorkTimer();
  let turns = 0;
  while (!timer.exceeds(5)) turns += 1;
  expect(turns).toBeGreaterThan(0);
  expect(timer.ms).toBeGreaterThan(5);
});
