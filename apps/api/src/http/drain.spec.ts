import { describe, expect, it } from 'vitest';
import { Drain } from './drain.js';

describe('Drain', () => {
  it('ends at once when nothing is open', async () => {
    const drain = new Drain();
    await drain.drain(60_000);
    expect([drain.draining, drain.expired.aborted]).toEqual([true, false]);
  });

  it('waits for the last open request', async () => {
    const drain = new Drain();
    drain.enter();
    drain.enter();
    let ended = false;
    const draining = drain.drain(60_000).then(() => (ended = true));
    drain.leave();
    await new Promise((resolve) => setImmediate(resolve));
    expect([ended, drain.draining]).toEqual([false, true]);
    drain.leave();
    await draining;
    expect(drain.expired.aborted).toBe(false);
  });

  it('gives up what is still open after the grace, and leaves it time for a last word', async () => {
    const drain = new Drain();
    drain.enter();
    drain.expired.addEventListener('abort', () => drain.leave());
    await drain.drain(1, 60_000);
    expect(drain.expired.aborted).toBe(true);
  });
});
