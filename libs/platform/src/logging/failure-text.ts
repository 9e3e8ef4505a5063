const longestText = 500;
const deepestCause = 4;

/** Returns the messages of an error and its causes on one line, without credentials in URLs. */
export function failureText(error: unknown): string {
  const texts = new Set(messagesOf(error, deepestCause).filter((text) => text !== ''));
  const text = [...texts].join(': ').slice(0, longestText);
  return text === '' ? 'no reason given' : text;
}

function messagesOf(error: unknown, depth: number): string[] {
  if (depth === 0) return [];
  if (!(error instanceof Error)) return typeof error === 'string' ? [plain(error)] : [];
  const { code } = error as { code?: unknown };
  // A connection to a name with several addresses tried each; the error itself only has a code.
  const tried: unknown[] = error instanceof AggregateError ? error.errors : [];
  const message = plain(error.message) || (typeof code === 'string' ? code : '');
  return [message, ...[...tried, error.cause].flatMap((cause) => messagesOf(cause, depth - 1))];
}

/** Drivers quote URLs as given, and passwords may contain any character. */
function plain(text: string): string {
  return text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => withoutCredentials(word))
    .join(' ');
}

function withoutCredentials(word: string): string {
  const [start, end] = [word.indexOf('://'), word.lastIndexOf('@')];
  return start < 0 || end < start ? word : `${word.slice(0, start)}://[redacted]${word.slice(end)}`;
}
