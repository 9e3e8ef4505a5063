import { describe, expect, it } from 'vitest';
import { windowCachePositions } from './window-cache.js';

describe('windowCachePositions', () => {
  it('is bounded by window and rows, however long the context is', () => {
    const long = windowCachePositions(512, { slots: 8, tokens: 8 * 131_072 });
    expect(long).toBe(windowCachePositions(512, { slots: 8, tokens: 8 * 1_000_000 }));
    expect(long).toBeLessThan(8 * 131_072 * 0.2);
  });

  it('is never more than the tokens of the cache', () => {
    expect(windowCachePositions(4_096, { slots: 8, tokens: 8 * 8_192 })).toBe(8 * 8_192);
  });
});
