import { describe, expect, it } from 'vitest';
import { readDayRange } from './day-range.query.js';

/** Already the 22nd in Kiritimati. */
const nowMs = Date.parse('2026-11-21T12:00:00Z');
const read = (query: object) => readDayRange(query, nowMs);

describe('the range of days', () => {
  it('ends today in the zone, and has seven days by default', () => {
    expect(read({})).toEqual({ startDate: '2026-11-15', endDate: '2026-11-21', timeZone: 'UTC' });
    expect(read({ tz: 'Pacific/Kiritimati' })).toMatchObject({ startDate: '2026-11-16', endDate: '2026-11-22' });
    expect(read({ from: '2026-11-01' })).toMatchObject({ startDate: '2026-11-01', endDate: '2026-11-21' });
    expect(read({ to: '2026-03-01' })).toMatchObject({ startDate: '2026-02-23', endDate: '2026-03-01' });
  });

  it.each([
    [{ from: '2026-11-22' }, 'to'],
    [{ from: '2025-01-01', to: '2026-11-01' }, 'to'],
    [{ from: '2026-02-30' }, 'from'],
    [{ to: '21.11.2026' }, 'to'],
    [{ from: '1969-01-01' }, 'from'],
    [{ tz: '+02:00' }, 'tz'],
    [{ tz: 'Europe/Nowhere' }, 'tz'],
  ])('refuses %j and names the field', (query, param) => {
    expect(() => read(query)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
  });
});
