import { describe, expect, it, vi } from 'vitest';
import { unlessStalled } from './unless-stalled.js';

async function* source(bytes: number): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.alloc(bytes));
}

describe('unlessStalled', () => {
  it('cuts off a reader who takes nothing for too long, and nobody else', async () => {
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

  it('hands out small pieces, so that slow is not stalled', async () => {
    const sizes: number[] = [];
    for await (const piece of unlessStalled(source(20_000), 1_000, () => undefined)) sizes.push(piece.length);
    expect(sizes).toEqual([8_192, 8_192, 3_616]);
  });
});
