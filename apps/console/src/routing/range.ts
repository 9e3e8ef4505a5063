import type { Filters } from './place.js';

/** Instants in ISO 8601, `to` exclusive. */
export interface Range {
  from: string;
  to: string;
}

export const rangeNames: Record<string, string> = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  month: 'This month',
  custom: 'Days …',
};

const defaultRange = '7d';
const hourMs = 3_600_000;
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

/** The name of the range that the filters choose. */
export function rangeNameOf({ range, from, to }: Filters): string {
  if (from !== undefined || to !== undefined) return 'custom';
  return range !== undefined && Object.hasOwn(rangeNames, range) ? range : defaultRange;
}

/** Returns the range that the filters choose. Days begin at midnight of `zone`, the zone of the viewer. */
export function rangeOf(filters: Filters, zone: string, now: Date): Range {
  const today = dayIn(now, zone);
  const until = (day: string) => ({ from: startOfDay(day, zone), to: startOfDay(addDays(today, 1), zone) });
  switch (rangeNameOf(filters)) {
    case '1h':
      return { from: minuteBefore(now, hourMs), to: minuteBefore(now, -60_000) };
    case '24h':
      return { from: minuteBefore(now, 24 * hourMs), to: minuteBefore(now, -60_000) };
    case '30d':
      return until(addDays(today, -29));
    case 'month':
      return until(`${today.slice(0, 8)}01`);
    case 'custom': {
      const first = validDay(filters['from']) ?? validDay(filters['to']) ?? today;
      const last = validDay(filters['to']) ?? today;
      const [from, to] = first <= last ? [first, last] : [last, first];
      return { from: startOfDay(from, zone), to: startOfDay(addDays(to, 1), zone) };
    }
    default:
      return until(addDays(today, -6));
  }
}

/** The zone of the viewer, such as `Europe/Rome`. */
export function viewerZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns the calendar day of an instant in a zone, such as `2026-11-29`. */
export function dayIn(instant: Date, zone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    instant,
  );
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 24 * hourMs).toISOString().slice(0, 10);
}

/** Returns the first instant of a day in a zone. Where the clock skips midnight, that is the end of the gap. */
export function startOfDay(day: string, zone: string): string {
  const utcMidnight = Date.parse(`${day}T00:00:00Z`);
  // Zones are at most 14 hours from UTC. The start lies where the local day changes, which a bisection finds.
  let before = utcMidnight - 15 * hourMs;
  let after = utcMidnight + 15 * hourMs;
  while (after - before > 1000) {
    const middle = Math.floor((before + after) / 2000) * 1000;
    if (dayIn(new Date(middle), zone) < day) before = middle;
    else after = middle;
  }
  return new Date(after).toISOString();
}

/** Whole minutes, so that an open page asks for the same range during a minute. */
function minuteBefore(now: Date, ms: number): string {
  return new Date(Math.floor((now.getTime() - ms) / 60_000) * 60_000).toISOString();
}

function validDay(text: string | undefined): string | null {
  return text !== undefined && dayPattern.test(text) && !Number.isNaN(Date.parse(text)) ? text : null;
}
