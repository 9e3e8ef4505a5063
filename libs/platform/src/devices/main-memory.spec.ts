import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { mainMemoryBytes } from './main-memory.js';

const gib = 2 ** 30;
/** Linux's value for "no limit". */
const unlimited = 2 ** 63;

describe('main memory of this process', () => {
  it('is the cgroup limit when that is below the physical memory', () => {
    expect(mainMemoryBytes({ built: 64 * gib, allowed: 4 * gib })).toBe(4 * gib);
  });

  it('is the physical memory when no lower limit is set', () => {
    expect(mainMemoryBytes({ built: 64 * gib, allowed: 0 })).toBe(64 * gib);
    expect(mainMemoryBytes({ built: 64 * gib, allowed: unlimited })).toBe(64 * gib);
  });

  it('is read from this machine', () => {
    const bytes = mainMemoryBytes();
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(totalmem());
  });
});
