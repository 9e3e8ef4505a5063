import { describe, expect, it } from 'vitest';
import { dayBorders, isTimeZone } from './local-days.js';

const borders = (timeZone: string, startDate: string, endDate = startDate) =>
  dayBorders({ startDate, endDate, timeZone }).map((ms) => new Date(ms).toISOString().slice(0, 16));

describe('the days of a time zone', () => {
  it.each([
    ['UTC', '2026-11-21T00:00', '2026-11-22T00:00'],
    ['Pacific/Kiritimati', '2026-11-20T10:00', '2026-11-21T10:00'],
    ['Etc/GMT+12', '2026-11-21T12:00', '2026-11-22T12:00'],
    ['Etc/GMT-14', '2026-11-20T10:00', '2026-11-21T10:00'],
    ['Asia/Kathmandu', '2026-11-20T18:15', '2026-11-21T18:15'],
    ['Pacific/Chatham', '2026-11-20T10:15', '2026-11-21T10:15'],
  ])('begin and end at midnight in %s', (timeZone, begin, end) => {
    expect(borders(timeZone, '2026-11-21')).toEqual([begin, end]);
  });

  it('have 23 and 25 hours when the clocks change', () => {
    const hours = (timeZone: string, day: string) => {
      const [begin = 0, end = 0] = dayBorders({ startDate: day, endDate: day, timeZone });
      return (end - begin) / 3_600_000;
    };
    expect(hours('Europe/Berlin', '2026-03-29')).toBe(23);
    expect(hours('Europe/Berlin', '2026-10-25')).toBe(25);
    expect(hours('Australia/Lord_Howe', '2026-10-04')).toBe(23.5);
  });

  it('begin at one o’clock where midnight is skipped', () => {
    expect(borders('Asia/Beirut', '2026-03-29')).toEqual(['2026-03-28T22:00', '2026-03-29T21:00']);
    expect(borders('America/Santiago', '2026-09-06')).toEqual(['2026-09-06T04:00', '2026-09-07T03:00']);
  });

  it('follow one another without gaps over a year', () => {
    const all = dayBorders({ startDate: '2026-01-01', endDate: '2026-12-31', timeZone: 'America/New_York' });
    expect(all).toHaveLength(366);
    expect(all.toSorted((left, right) => left - right)).toEqual(all);
    expect(all.every((ms) => ms % 900_000 === 0)).toBe(true);
  });

  it('exist for names of zones alone', () => {
    expect(['UTC', 'Europe/Berlin', 'Etc/GMT-14'].every(isTimeZone)).toBe(true);
    expect(['', '+02:00', 'Mars/Olympus', "UTC'; DROP", 'A'.repeat(65)].some(isTimeZone)).toBe(false);
  });
});
