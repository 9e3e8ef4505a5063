import { describe, expect, it } from 'vitest';
import { readAnalyticsQuery } from './usage-analytics.query.js';
import { readHistoryQuery } from './usage-history.query.js';

const nowMs = Date.parse('2026-11-21T23:30:00Z');

describe('the query of a usage history', () => {
  it('defaults to everything, a thousand lines at a time', () => {
    expect(readHistoryQuery({})).toEqual({ filter: { currency: null, startMs: null, endMs: null, pageSize: 1_000 } });
  });

  it('accepts every filter', () => {
    const query = {
      currency: 'BUNDLED_CREDITS',
      startTimestamp: '2026-11-01T00:00:00+01:00',
      endTimestamp: '2026-11-02T00:00:00.0005Z',
      pageSize: '10',
    };
    const startMs = Date.parse('2026-10-31T23:00:00Z');
    // Half a millisecond rounds up: entries have whole milliseconds.
    const endMs = Date.parse('2026-11-02T00:00:00.001Z');
    expect(readHistoryQuery(query)).toEqual({ filter: { currency: 'BUNDLED', startMs, endMs, pageSize: 10 } });
  });

  it.each([
    [{ currency: 'EUR' }, 'currency'],
    [{ currency: 'usd' }, 'currency'],
    [{ currency: '' }, 'currency'],
    [{ currency: ['USD', 'DIEM'] }, 'currency'],
    [{ pageSize: '9' }, 'pageSize'],
    [{ pageSize: '1001' }, 'pageSize'],
    [{ pageSize: '-10' }, 'pageSize'],
    [{ pageSize: '10.5' }, 'pageSize'],
    [{ pageSize: 'NaN' }, 'pageSize'],
    [{ pageSize: '1e2' }, 'pageSize'],
    [{ startTimestamp: 'yesterday' }, 'startTimestamp'],
    [{ startTimestamp: '2026-11-21' }, 'startTimestamp'],
    [{ startTimestamp: '2026-02-30T00:00:00Z' }, 'startTimestamp'],
    [{ startTimestamp: '2026-11-21T00:00:00' }, 'startTimestamp'],
    [{ startTimestamp: '0001-01-01T00:00:00Z' }, 'startTimestamp'],
    [{ endTimestamp: `2026-11-21T00:00:00.${'0'.repeat(40)}Z` }, 'endTimestamp'],
    [{ startTimestamp: '2026-11-21T00:00:00Z', endTimestamp: '2026-11-21T00:00:00Z' }, 'endTimestamp'],
    [{ startTimestamp: '2026-11-22T00:00:00Z', endTimestamp: '2026-11-21T00:00:00Z' }, 'endTimestamp'],
    [{ cursor: 'abc', currency: 'USD' }, 'cursor'],
    [{ cursor: 'abc', pageSize: '1000' }, 'cursor'],
    [{ cursor: 'abc', endTimestamp: '' }, 'cursor'],
    [{ cursor: ['a', 'b'] }, 'cursor'],
  ])('is refused as %j', (query, param) => {
    expect(() => readHistoryQuery(query)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }) as Error);
  });

  it('accepts a cursor only on its own', () => {
    expect(readHistoryQuery({ cursor: 'abc' })).toEqual({ cursor: 'abc' });
  });
});

describe('the query of analytics', () => {
  it.each([
    [{}, '2026-11-15', '2026-11-21', '7d'],
    [{ lookback: '1d' }, '2026-11-21', '2026-11-21', '1d'],
    [{ lookback: '90d' }, '2026-08-24', '2026-11-21', '90d'],
    [{ startDate: '2026-11-01', endDate: '2026-11-01' }, '2026-11-01', '2026-11-01', '1d'],
    [{ startDate: '2026-08-24', endDate: '2026-11-21' }, '2026-08-24', '2026-11-21', '90d'],
  ])('%j means whole days in UTC', (query, startDate, endDate, lookback) => {
    expect(readAnalyticsQuery(query, nowMs)).toEqual({ days: { startDate, endDate }, lookback });
  });

  it.each([
    [{ lookback: '0d' }, 'lookback'],
    [{ lookback: '91d' }, 'lookback'],
    [{ lookback: '7' }, 'lookback'],
    [{ lookback: '-7d' }, 'lookback'],
    [{ lookback: '1.5d' }, 'lookback'],
    [{ lookback: '99999999999999d' }, 'lookback'],
    [{ lookback: '7d', startDate: '2026-11-01', endDate: '2026-11-02' }, 'lookback'],
    [{ startDate: '2026-11-01' }, 'endDate'],
    [{ endDate: '2026-11-01' }, 'startDate'],
    [{ startDate: '2026-11-02', endDate: '2026-11-01' }, 'endDate'],
    [{ startDate: '2026-08-23', endDate: '2026-11-21' }, 'endDate'],
    [{ startDate: '2026-02-30', endDate: '2026-03-01' }, 'startDate'],
    [{ startDate: '20261101', endDate: '2026-11-02' }, 'startDate'],
    [{ startDate: '0000-01-01', endDate: '0000-01-01' }, 'startDate'],
    [{ startDate: '1969-12-31', endDate: '1970-01-01' }, 'startDate'],
    [{ startDate: '2026-11-01', endDate: '0000-01-01' }, 'endDate'],
  ])('is refused as %j', (query, param) => {
    const refusal = expect.objectContaining({ code: 'INVALID_REQUEST', param }) as Error;
    expect(() => readAnalyticsQuery(query, nowMs)).toThrow(refusal);
  });
});
