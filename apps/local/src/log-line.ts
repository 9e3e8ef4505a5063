const ownMembers = new Set(['level', 'time', 'name', 'msg', 'error', 'err', 'pid', 'hostname', 'v']);

/**
 * Formats one log line of a child for a terminal: `12:00:01.234 api    INFO  listening port=3000`. Omits fields that
 * the message already contains.
 */
export function readableLine(source: string, line: string): string {
  const entry = parseEntry(line);
  if (entry === null) return `${timeOf(new Date())} ${source.padEnd(6)} ${line}`;
  const level = String(entry.level).toUpperCase().padEnd(5);
  const message = String(entry.msg ?? '');
  const members = Object.entries(entry)
    .filter(([name, value]) => !ownMembers.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const)
    .filter(([, value]) => !says(message, value))
    .map(([name, value]) => `${name}=${value}`);
  const time = timeOf(new Date(String(entry.time)));
  const head = `${time} ${source.padEnd(6)} ${level} ${message}`;
  return [head, ...members, ...errorOf(entry)].join(' ');
}

function says(message: string, value: string): boolean {
  const at = value === '' ? -1 : message.indexOf(value);
  return at >= 0 && !/\w/.test(message.charAt(at - 1)) && !/\w/.test(message.charAt(at + value.length));
}

function parseEntry(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null && 'level' in entry ? (entry as Record<string, unknown>) : null;
  } catch {
    // Not every line that starts with a brace is a log entry.
    return null;
  }
}

function errorOf(entry: Record<string, unknown>): string[] {
  const error = entry.error ?? entry.err;
  if (typeof error !== 'object' || error === null) return error === undefined ? [] : [`error=${String(error)}`];
  const { message, stack } = error as { message?: unknown; stack?: unknown };
  const severe = entry.level === 'error' || entry.level === 'fatal';
  return [severe && typeof stack === 'string' ? `\n${stack}` : `error=${String(message)}`];
}

function timeOf(date: Date): string {
  const valid = Number.isNaN(date.getTime()) ? new Date() : date;
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = [valid.getHours(), valid.getMinutes(), valid.getSeconds()].map(two).join(':');
  return `${clock}.${String(valid.getMilliseconds()).padStart(3, '0')}`;
}
