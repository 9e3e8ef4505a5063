/** Whole days of a time zone, both included: `2026-11-21`. */
export interface DayRange {
  startDate: string;
  endDate: string;
  /** An IANA zone. */
  timeZone: string;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Zones change their offset at quarters of an hour, and so do their days begin. */
const stepMs = 15 * minuteMs;
/** A day begins at most so long before or after midnight in UTC: zones reach from −12 to +14 hours. */
const furthestMs = 15 * 60 * minuteMs;

/** Formats take milliseconds to make. Names of zones are many, since their case is free, so few are kept. */
const maxFormats = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a function that tells the date in a zone, as `2026-11-21`. Throws a `RangeError` for an unknown zone. */
export function dateIn(timeZone: string): (ms: number) => string {
  const format = formats.get(timeZone) ?? rememberFormat(timeZone);
  return (ms) => format.format(ms);
}

function rememberFormat(timeZone: string): Intl.DateTimeFormat {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  if (formats.size >= maxFormats) formats.clear();
  formats.set(timeZone, format);
  return format;
}

/** True for names such as `Europe/Berlin`; offsets such as `+02:00` are no zones. */
export function isTimeZone(name: string): boolean {
  if (name.length > 64 || !/^[A-Za-z]/.test(name)) return false;
  try {
    dateIn(name);
    return true;
  } catch {
    return false;
  }
}

/** Returns every date of a range. */
export function datesBetween(startDate: string, endDate: string): string[] {
  const dates: string[] = [];
  for (let ms = Date.parse(startDate); ms <= Date.parse(endDate); ms += dayMs) {
    dates.push(new Date(ms).toISOString().slice(0, 10));
  }
  return dates;
}

/**
 * Returns when each day of a range begins, and when the last one ends, in ms since the epoch. A day has 23 or 25 hours
 * where the clocks change, and may begin at one o'clock.
 */
export function dayBorders({ startDate, endDate, timeZone }: DayRange): number[] {
  const date = dateIn(timeZone);
  const afterEnd = new Date(Date.parse(endDate) + dayMs).toISOString().slice(0, 10);
  return datesBetween(startDate, afterEnd).map((day) => beginOf(day, date));
}

/** Returns the first moment at which the zone has the date, or a later one. */
function beginOf(day: string, date: (ms: number) => string): number {
  const midnightMs = Date.parse(day);
  // Between these, the date changes once from earlier ones to this one.
  let [before, after] = [-furthestMs / stepMs, furthestMs / stepMs];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (date(midnightMs + middle * stepMs) >= day) after = middle;
    else before = middle;
  }
  return midnightMs + after * stepMs;
}
