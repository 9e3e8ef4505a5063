import { describe, expect, it } from 'vitest';
import { inBatches } from './in-batches.js';

describe('rows', () => {
  it('are deleted batch after batch until one is short', async () => {
    let left = 25;
    const deleteSome = async (max: number) => {
      const count = Math.min(max, left);
      left -= count;
      return count;
    };
    expect([await inBatches(10, deleteSome), left]).toEqual([25, 0]);
    left = Infinity;
    expect(await inBatches(10, deleteSome)).toBe(400);
    expect(await inBatches(10, deleteSome, 3)).toBe(30);
  });
});
