import { describe, expect, it, vi } from 'vitest';
import { Drain } from './drain.js';

describe('Drain', () => {
  it('ends at once when no request is open', async () => {
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

  it('aborts open requests after the grace period and leaves them time for a last frame', async () => {
    const drain = new Drain();
    drain.enter();
    drain.expired.addEventListener('abort', () => drain.leave());
    await drain.drain(1, { finalFrameMs: 60_000 });
    expect(drain.expired.aborted).toBe(true);
  });

  it('lets any number of responses listen for the end of the grace period without a warning', async () => {
    const warned = vi.fn();
    process.on('warning', warned);
    const { expired } = new Drain();
    for (let answer = 0; answer < 20; answer += 1) expired.addEventListener('abort', () => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });
});
