import { formatBytes } from '#model-store';

const ownMembers = new Set(['level', 'time', 'name', 'msg', 'error', 'err', 'pid', 'hostname', 'v']);

/**
 * Formats one log line of a child for a terminal: `12:00:01.234 api    INFO  listening port=3000`. Sizes in bytes get a
 * unit. Omits fields that the message already contains.
 */
export function readableLine(source: string, line: string): string {
  const entry = parseEntry(line);
  if (entry === null) return `${timeOf(new Date())} ${source.padEnd(6)} ${line}`;
  const level = String(entry.level).toUpperCase().padEnd(5);
  const message = String(entry.msg ?? '');
  const members = Object.entries(entry)
    .filter(([name, value]) => !ownMembers.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => ({ name, value, text: shown(name, value) }))
    .filter(({ name, value, text }) => ![text, ...wordings(name, value)].some((wording) => says(message, wording)))
    .map(({ name, text }) => `${name}=${text}`);
  const time = timeOf(new Date(String(entry.time)));
  const head = `${time} ${source.padEnd(6)} ${level} ${message}`;
  return [head, ...members, ...errorOf(entry)].join(' ');
}

function shown(name: string, value: unknown): string {
  const readable = isBytes(name) ? withUnits(value) : value;
  return typeof readable === 'string' ? readable : JSON.stringify(readable);
}

/** Returns the other ways in which a message may state the value of a field. */
function wordings(name: string, value: unknown): string[] {
  if (isBytes(name) && isRecord(value)) {
    const parts = Object.entries(value).map(([part, bytes]) => `${String(withUnits(bytes))} on ${part}`);
    return [parts.join(', ')];
  }
  if (!name.endsWith('Ms') || typeof value !== 'number') return [];
  return [`${value} ms`, `${value / 1_000} s`, `${value / 60_000} minutes`];
}

function isBytes(name: string): boolean {
  return name === 'bytes' || name.endsWith('Bytes');
}

function withUnits(value: unknown): unknown {
  if (typeof value === 'number') return formatBytes(value);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([part, bytes]) => [part, withUnits(bytes)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
