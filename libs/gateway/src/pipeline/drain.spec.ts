import { describe, expect, it, vi } from 'vitest';
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

  it('lets any number of answers listen for the end of the grace without a warning', async () => {
    const warned = vi.fn();
    process.on('warning', warned);
    const { expired } = new Drain();
    for (let answer = 0; answer < 20; answer += 1) expired.addEventListener('abort', () => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });
});
