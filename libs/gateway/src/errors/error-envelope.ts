import { type ErrorCode, type ErrorIssue, errorEntry, type PlatformError } from '#common';

/** An error as it goes out: what the route's callers can read (DESIGN 7). */
export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: object;
}

/** Paths that OpenAI's API has too; clients of these read its error object. */
const openaiPaths = [
  '/api/v1/chat/completions',
  '/api/v1/responses',
  '/api/v1/embeddings',
  '/api/v1/images/generations',
  '/api/v1/audio/speech',
  '/api/v1/audio/transcriptions',
  '/api/v1/models',
];

/** Codes of our own never leave the house; each goes out as the contract's code for what the caller sees. */
const publicCodes: Partial<Record<ErrorCode, ErrorCode>> = {
  DEVICE_LOST: 'MODEL_OFFLINE',
  JOB_CANCELLED: 'SERVICE_UNAVAILABLE',
};

export function isOpenaiPath(url: string): boolean {
  const path = url.split('?', 1)[0] ?? '';
  return openaiPaths.some((known) => path === known || path.startsWith(`${known}/`));
}

/** `details` of the contract: `_errors` nested by field. */
function detailsOf(issues: ErrorIssue[]): object {
  const root: Record<string, unknown> = { _errors: [] };
  for (const { path, message } of issues) {
    let node = root;
    for (const part of path) {
      const key = String(part);
      // Keys come from the body: only own members count, and `__proto__` was dropped when it was read.
      if (!Object.hasOwn(node, key)) node[key] = { _errors: [] };
      node = node[key] as Record<string, unknown>;
    }
    (node._errors as string[]).push(message);
  }
  return root;
}

function headersOf(error: PlatformError, code: ErrorCode): Record<string, string> {
  const { status, retryAfterSeconds: usualSeconds, ledger } = errorEntry(code);
  const { retry = usualSeconds === undefined ? undefined : { afterSeconds: usualSeconds } } = error;
  const headers: Record<string, string> = {};
  if (typeof retry === 'object') headers['retry-after'] = String(retry.afterSeconds);
  // OpenAI's client retries 408, 409, 429 and 5xx by itself: not where that cannot help, nor where it pays twice.
  const hopeless = ((status ?? 500) < 500 && status !== 429) || retry === 'never';
  if (hopeless || ledger === 'settle-delivered') headers['x-should-retry'] = 'false';
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  return headers;
}

/** OpenAI's error object, also the body of an error frame in a stream. */
export function openaiError(error: PlatformError): {
  message: string;
  type: string;
  param: string | null;
  code: string;
} {
  const code = publicCodes[error.code] ?? error.code;
  const { type } = errorEntry(code);
  // OpenAI's own code, which its clients look for.
  const named = code === 'TOO_MANY_TOKENS' ? 'context_length_exceeded' : code;
  return { message: error.message, type, param: error.param, code: named };
}

/** The body of an error frame in a stream, in OpenAI's words. */
export function errorFrame(error: PlatformError): { error: object; issues?: ErrorIssue[] } {
  return { error: openaiError(error), ...(error.issues ? { issues: error.issues } : {}) };
}

/** The answer to an error, in the envelope of the route `url`; an address stands in where there is no route. */
export function errorResponse(error: PlatformError, url: string): ErrorResponse {
  const code = publicCodes[error.code] ?? error.code;
  const status = errorEntry(code).status ?? 500;
  const { issues } = error;
  const more = issues === undefined ? {} : { details: detailsOf(issues), issues };
  const body = isOpenaiPath(url)
    ? { error: openaiError(error), ...more }
    : { error: error.message, code: openaiError(error).code, ...more };
  return { status, headers: headersOf(error, code), body };
}
