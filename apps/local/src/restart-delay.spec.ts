import { describe, expect, it } from 'vitest';
import { RestartDelay } from './restart-delay.js';

describe('RestartDelay', () => {
  it('doubles up to 30 s and resets after a minute of uptime', () => {
    let nowMs = 0;
    const delay = new RestartDelay({ nowMs: () => nowMs, monotonicMs: () => nowMs });
    const crashAfter = (aliveMs: number): number => {
      delay.started();
      nowMs += aliveMs;
      return delay.next();
    };
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => crashAfter(10))).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ]);
    expect(crashAfter(60_000)).toBe(500);
  });
});
