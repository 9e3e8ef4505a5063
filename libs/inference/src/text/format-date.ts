const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/**
 * `strftime` for chat templates, in UTC and English whatever the host's locale, so the same request gives the same
 * prompt on every worker. Unknown directives are left unchanged.
 */
export function formatDate(date: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (directive, unpadded: string, letter: string) => {
    const text = fieldOf(date, letter);
    if (text === null) return directive;
    return unpadded === '' ? text : text.replace(/^0+(?=\d)/, '');
  });
}

function fieldOf(date: Date, letter: string): string | null {
  const month = months[date.getUTCMonth()] ?? '';
  const day = days[date.getUTCDay()] ?? '';
  const fields: Record<string, string> = {
    Y: String(date.getUTCFullYear()),
    y: pad(date.getUTCFullYear() % 100),
    m: pad(date.getUTCMonth() + 1),
    d: pad(date.getUTCDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: pad(date.getUTCHours()),
    I: pad(date.getUTCHours() % 12 || 12),
    M: pad(date.getUTCMinutes()),
    S: pad(date.getUTCSeconds()),
    p: date.getUTCHours() < 12 ? 'AM' : 'PM',
    '%': '%',
  };
  return fields[letter] ?? null;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
