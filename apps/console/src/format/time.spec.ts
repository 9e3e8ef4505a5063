import { describe, expect, it } from 'vitest';
import { formatDuration, formatTime } from './time.js';

describe('a time', () => {
  it.each([
    ['2026-11-29T23:30:05Z', 'UTC', '2026-11-29 23:30:05'],
    ['2026-11-29T23:30:05Z', 'Pacific/Kiritimati', '2026-11-30 13:30:05'],
    ['2026-11-29T00:30:05Z', 'America/New_York', '2026-11-28 19:30:05'],
    ['2026-11-29T00:00:00Z', 'UTC', '2026-11-29 00:00:00'],
  ])('%s in %s is %s', (iso, zone, text) => {
    expect(formatTime(iso, zone)).toBe(text);
  });

  it('that is missing is a dash', () => {
    expect(formatTime(null)).toBe('–');
  });
});

describe('a duration', () => {
  it.each([
    [0, '0 ms'],
    [840.4, '840 ms'],
    [12_340, '12.3 s'],
    [99_960, '1 min 40 s'],
    [3_599_600, '1 h 0 min'],
    [7_380_000, '2 h 3 min'],
    [273_600_000, '3 d 4 h'],
    [null, '–'],
  ])('of %s ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});
