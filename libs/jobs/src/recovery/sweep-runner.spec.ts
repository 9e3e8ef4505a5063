import { expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import { SweepRunner } from './sweep-runner.js';

it('waits for the run in progress, for a limited time when it may never end', async () => {
  let end: () => void = () => undefined;
  const run = () => new Promise<number>((resolve) => (end = () => resolve(0)));
  const runner = new SweepRunner({ sweeps: [{ name: 'silent', run }], intervalMs: 1, logger: {} as Logger });
  runner.start();
  let isClosed = false;
  const closing = runner.close().then(() => (isClosed = true));
  await runner.close(1);
  expect(isClosed).toBe(false);
  end();
  await closing;
});
