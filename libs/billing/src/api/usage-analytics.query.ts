import { queryFault, queryText } from '#platform/http';
import { datesOf } from '../usage/usage-analytics.service.js';
import type { UsageDays } from '../usage/usage-analytics.repository.js';
import { firstYear } from './usage-history.query.js';

const maxDays = 90;
const oneDayMs = 86_400_000;
const dayForm = /^\d{4}-\d{2}-\d{2}$/;

/** The day range of a `GET /billing/usage-analytics` query, and its name in responses. */
export interface AnalyticsQuery {
  days: UsageDays;
  lookback: string;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** `lookback` counts today (UTC). Throws `INVALID_REQUEST` naming the parameter. */
export function readAnalyticsQuery(query: unknown, nowMs: number): AnalyticsQuery {
  const lookback = queryText(query, 'lookback');
  const startDate = readDay(query, 'startDate');
  const endDate = readDay(query, 'endDate');
  if (startDate === undefined && endDate === undefined) return lookbackFrom(lookback ?? '7d', nowMs);
  if (lookback !== undefined) throw queryFault('lookback', 'Give lookback, or startDate and endDate, not both.');
  if (startDate === undefined) throw queryFault('startDate', 'startDate is required beside endDate.');
  if (endDate === undefined) throw queryFault('endDate', 'endDate is required beside startDate.');
  if (endDate < startDate) throw queryFault('endDate', 'endDate must not be before startDate.');
  if (Date.parse(endDate) - Date.parse(startDate) >= maxDays * oneDayMs) {
    throw queryFault('endDate', `The range must have at most ${maxDays} days.`);
  }
  const days = { startDate, endDate };
  return { days, lookback: `${datesOf(days).length}d` };
}

function lookbackFrom(lookback: string, nowMs: number): AnalyticsQuery {
  const count = /^[1-9]\d{0,3}d$/.test(lookback) ? Number.parseInt(lookback, 10) : Infinity;
  if (count > maxDays) throw queryFault('lookback', `lookback must be 1d to ${maxDays}d.`);
  return { days: { startDate: dayOf(nowMs - (count - 1) * oneDayMs), endDate: dayOf(nowMs) }, lookback };
}

function readDay(query: unknown, name: string): string | undefined {
  const text = queryText(query, name);
  if (text === undefined) return undefined;
  const ms = dayForm.test(text) ? Date.parse(text) : Number.NaN;
  const isDay = Number.isFinite(ms) && dayOf(ms) === text;
  if (isDay && Number(text.slice(0, 4)) >= firstYear) return text;
  throw queryFault(name, `${name} must be a date such as 2026-11-21, from ${firstYear} on.`);
}
