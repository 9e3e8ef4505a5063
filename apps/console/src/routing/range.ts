import type { Filters } from './place.js';

/** Days of a zone, both included, as the Admin API takes them. */
export interface DayRange {
  from: string;
  to: string;
  tz: string;
}

export const rangeNames: Record<string, string> = {
  today: 'Today',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
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

/** Returns the days that the filters choose, in `tz`, the zone of the viewer. */
export function rangeOf(filters: Filters, tz: string, now: Date): DayRange {
  const today = dayIn(now, tz);
  const until = (from: string): DayRange => ({ from, to: today, tz });
  switch (rangeNameOf(filters)) {
    case 'today':
      return until(today);
    case '30d':
      return until(addDays(today, -29));
    case '90d':
      return until(addDays(today, -89));
    case 'month':
      return until(`${today.slice(0, 8)}01`);
    case 'custom': {
      const first = validDay(filters['from']) ?? validDay(filters['to']) ?? today;
      const last = validDay(filters['to']) ?? today;
      return first <= last ? { from: first, to: last, tz } : { from: last, to: first, tz };
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

function validDay(text: string | undefined): string | null {
  return text !== undefined && dayPattern.test(text) && !Number.isNaN(Date.parse(text)) ? text : null;
}
