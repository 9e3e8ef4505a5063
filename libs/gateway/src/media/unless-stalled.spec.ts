import { describe, expect, it, vi } from 'vitest';
import { unlessStalled } from './unless-stalled.js';

async function* source(bytes: number): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.alloc(bytes));
}

describe('unlessStalled', () => {
  it('closes the connection of a client that reads nothing for too long, and no other', async () => {
    vi.useFakeTimers();
    try {
      const cutOff = vi.fn();
      const reader = unlessStalled(source(20_000), 1_000, cutOff);
      await reader.next();
      vi.advanceTimersByTime(999);
      await reader.next();
      vi.advanceTimersByTime(999);
      expect(cutOff).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(cutOff).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  it('writes small pieces, so that a slow client does not count as stalled', async () => {
    const sizes: number[] = [];
    for await (const piece of unlessStalled(source(20_000), 1_000, () => undefined)) sizes.push(piece.length);
    expect(sizes).toEqual([8_192, 8_192, 3_616]);
  });
});
