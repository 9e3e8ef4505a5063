import { type DayRange, isTimeZone } from '#billing/usage';
import { queryFault, queryText } from '#platform/http';

const dayForm = /^\d{4}-\d{2}-\d{2}$/;
const dayMs = 86_400_000;
const maxDays = 400;
const defaultDays = 7;
/** Nothing was charged before. */
const firstYear = 2020;

/** Reads `from`, `to` and `tz`: days of the zone, both included; by default the last seven days in UTC. */
export function readDayRange(query: unknown, nowMs: number): DayRange {
  const timeZone = readTimeZone(query);
  const endDate = readDay(query, 'to') ?? dateOf(nowMs, timeZone);
  const startDate = readDay(query, 'from') ?? dayBefore(endDate, defaultDays - 1);
  if (endDate < startDate) throw queryFault('to', 'to must not be before from.');
  if (Date.parse(endDate) - Date.parse(startDate) >= maxDays * dayMs) {
    throw queryFault('to', `The range must have at most ${maxDays} days.`);
  }
  return { startDate, endDate, timeZone };
}

/** Reads `tz`. Throws `INVALID_REQUEST` for what is no zone. */
export function readTimeZone(query: unknown): string {
  const timeZone = queryText(query, 'tz') ?? 'UTC';
  if (isTimeZone(timeZone)) return timeZone;
  throw queryFault('tz', 'tz must be the name of a time zone such as Europe/Berlin.');
}

function readDay(query: unknown, name: string): string | undefined {
  const text = queryText(query, name);
  if (text === undefined || text === '') return undefined;
  const ms = dayForm.test(text) ? Date.parse(text) : Number.NaN;
  const isDay = Number.isFinite(ms) && new Date(ms).toISOString().slice(0, 10) === text;
  if (isDay && Number(text.slice(0, 4)) >= firstYear) return text;
  throw queryFault(name, `${name} must be a date such as 2026-11-21, from ${firstYear} on.`);
}

function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * dayMs).toISOString().slice(0, 10);
}

function dateOf(ms: number, timeZone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(ms);
}
