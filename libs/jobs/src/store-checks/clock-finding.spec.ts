import { describe, expect, it } from 'vitest';
import { clockFinding } from './clock-finding.js';

describe('the clock of a server', () => {
  it.each([null, 0, 2_000, -2_000])('is fine with an offset of %s ms', (offsetMs) => {
    expect(clockFinding('Redis', offsetMs)).toEqual([]);
  });

  it.each([
    [2_100, 'The clock of Redis is 2.1 s ahead of this machine: synchronize both.'],
    [-61_000, 'The clock of Redis is 61.0 s behind this machine: synchronize both.'],
  ])('is reported with an offset of %s ms', (offsetMs, text) => {
    expect(clockFinding('Redis', offsetMs)).toEqual([{ store: 'clock', severity: 'problem', text }]);
  });
});
