import { describe, expect, it } from 'vitest';
import { addDays, dayIn, rangeNameOf, rangeOf, startOfDay } from './range.js';

const now = new Date('2026-11-29T09:17:42.500Z');

describe('a day of a zone', () => {
  it.each([
    ['2026-11-29', 'UTC', '2026-11-29T00:00:00.000Z'],
    ['2026-11-29', 'Europe/Rome', '2026-11-28T23:00:00.000Z'],
    ['2026-11-29', 'Pacific/Kiritimati', '2026-11-28T10:00:00.000Z'],
    ['2026-11-29', 'Etc/GMT+12', '2026-11-29T12:00:00.000Z'],
    ['2026-11-29', 'Asia/Kathmandu', '2026-11-28T18:15:00.000Z'],
    // The nights in which the clocks of Rome change.
    ['2026-03-29', 'Europe/Rome', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Rome', '2026-03-29T22:00:00.000Z'],
    ['2026-10-26', 'Europe/Rome', '2026-10-25T23:00:00.000Z'],
    // Clocks in Chile skip midnight.
    ['2026-09-06', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
  ])('%s in %s begins at %s', (day, zone, start) => {
    expect(startOfDay(day, zone)).toBe(start);
    expect(dayIn(new Date(start), zone)).toBe(day);
    expect(dayIn(new Date(Date.parse(start) - 1000), zone)).toBe(addDays(day, -1));
  });
});

describe('a range', () => {
  it('is of seven days with today unless the filters choose another', () => {
    expect(rangeNameOf({})).toBe('7d');
    expect(rangeNameOf({ range: 'toString' })).toBe('7d');
    expect(rangeOf({}, 'Europe/Rome', now)).toEqual({ from: '2026-11-23', to: '2026-11-29', tz: 'Europe/Rome' });
  });

  it.each([
    ['today', 'UTC', '2026-11-29', '2026-11-29'],
    ['today', 'Pacific/Kiritimati', '2026-11-29', '2026-11-29'],
    ['today', 'Pacific/Pago_Pago', '2026-11-28', '2026-11-28'],
    ['30d', 'UTC', '2026-10-31', '2026-11-29'],
    ['90d', 'UTC', '2026-09-01', '2026-11-29'],
    ['month', 'Asia/Tokyo', '2026-11-01', '2026-11-29'],
  ])('%s in %s is from %s to %s', (range, tz, from, to) => {
    expect(rangeOf({ range }, tz, now)).toEqual({ from, to, tz });
  });

  it('of days includes the first and the last one, in either order', () => {
    const days = { from: '2026-11-30', to: '2026-12-01', tz: 'UTC' };
    expect(rangeOf({ from: '2026-11-30', to: '2026-12-01' }, 'UTC', now)).toEqual(days);
    expect(rangeOf({ from: '2026-12-01', to: '2026-11-30' }, 'UTC', now)).toEqual(days);
  });

  it('ignores what is no day', () => {
    expect(rangeOf({ from: 'yesterday', to: '2026-13-40' }, 'UTC', now)).toEqual({
      from: '2026-11-29',
      to: '2026-11-29',
      tz: 'UTC',
    });
  });
});
