import { describe, expect, it } from 'vitest';
import { DeleteExpiredWindowsSweep } from './delete-expired-windows.sweep.js';

describe('DeleteExpiredWindowsSweep', () => {
  it('deletes a backlog in batches, run after run, and pauses once none is left', async () => {
    let left = 130_000;
    let statements = 0;
    const forget = async (max: number) => {
      statements += 1;
      const dropped = Math.min(max, left);
      left -= dropped;
      return dropped;
    };
    const sweep = new DeleteExpiredWindowsSweep(
      { forget, forgetLeases: async () => 0 },
      { nowMs: () => 0, monotonicMs: () => 0 },
    );
    expect([await sweep.run(), await sweep.run(), await sweep.run()]).toEqual([100_000, 30_000, 0]);
    expect(statements).toBe(27);
  });
});
