import { type ErrorCode, type ErrorIssue, errorEntry, type PlatformError } from '#common';
import { sseData } from '#platform/http';

/** An error as it is sent, in the format that the clients of the route expect. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: object;
}

const basePath = '/api/v1/';

/** Routes that exist in OpenAI's API, or in servers that add some to it. Their clients expect its error object. */
const openaiRoutes = [
  'chat/completions',
  'completions',
  'responses',
  'embeddings',
  'images/generations',
  'images/edits',
  'images/variations',
  'audio/speech',
  'audio/transcriptions',
  'audio/translations',
  'models',
  'moderations',
  'rerank',
  'v1/rerank',
  'v2/rerank',
];

/** First part of the paths of Anthropic's API. Its clients expect its error object. */
const anthropicNamespace = 'messages';

/** First parts of the paths of OpenAI's API: its clients ask for more of them than exist here. */
const openaiNamespaces = new Set([
  ...openaiRoutes.map((route) => route.split('/', 1)[0]),
  ...['assistants', 'batches', 'containers', 'conversations', 'evals', 'files', 'fine_tuning', 'organization'],
  ...['realtime', 'skills', 'threads', 'uploads', 'vector_stores', 'videos'],
]);

/** Maps internal codes to the public code that describes what the client sees. Internal codes are never sent. */
const publicCodes: Partial<Record<ErrorCode, ErrorCode>> = {
  DEVICE_LOST: 'MODEL_OFFLINE',
  JOB_CANCELLED: 'SERVICE_UNAVAILABLE',
};

function pathBelowBase(url: string): string | null {
  const path = url.split('?', 1)[0] ?? '';
  return path.startsWith(basePath) ? path.slice(basePath.length) : null;
}

/** Returns true when a route, or the path of one, is also in OpenAI's API. */
export function isOpenaiPath(url: string): boolean {
  const path = pathBelowBase(url);
  return path !== null && openaiRoutes.some((known) => path === known || path.startsWith(`${known}/`));
}

/** Returns true for a path without a route that only clients of OpenAI's API ask for. */
export function isOpenaiNamespace(url: string): boolean {
  return openaiNamespaces.has(pathBelowBase(url)?.split('/', 1)[0] ?? '');
}

/** Returns true for routes of Anthropic's API, and for what else its clients ask for below them. */
export function isAnthropicPath(url: string): boolean {
  return pathBelowBase(url)?.split('/', 1)[0] === anthropicNamespace;
}

const ownMember = { enumerable: true, writable: true, configurable: true };

/** Builds `details`: issues under `_errors`, nested by field. */
function detailsOf(issues: ErrorIssue[]): object {
  const root: Record<string, unknown> = { _errors: [] };
  for (const { path, message } of issues) {
    let node = root;
    for (const part of path) {
      const key = String(part);
      // Keys come from the body, so only own members count; `__proto__` may be one of them.
      if (!Object.hasOwn(node, key)) Object.defineProperty(node, key, { value: { _errors: [] }, ...ownMember });
      node = node[key] as Record<string, unknown>;
    }
    (node._errors as string[]).push(message);
  }
  return root;
}

function headersOf(error: PlatformError, code: ErrorCode): Record<string, string> {
  const { status, retryAfterSeconds: defaultSeconds, ledger } = errorEntry(code);
  const { retry = defaultSeconds === undefined ? undefined : { afterSeconds: defaultSeconds } } = error;
  const headers: Record<string, string> = {};
  if (typeof retry === 'object') headers['retry-after'] = String(retry.afterSeconds);
  // OpenAI's client retries 408, 409, 429 and 5xx. It must not where a retry cannot help or would be charged twice.
  const cannotRetry = ((status ?? 500) < 500 && status !== 429) || retry === 'never';
  if (cannotRetry || ledger === 'settle-delivered') headers['x-should-retry'] = 'false';
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  return headers;
}

/** Builds OpenAI's error object, also used in the error frame of a stream. */
export function openaiError(error: PlatformError): {
  message: string;
  type: string;
  param: string | null;
  code: string;
} {
  const code = publicCodes[error.code] ?? error.code;
  const { type } = errorEntry(code);
  // OpenAI's own code, which its clients check.
  const named = code === 'TOO_MANY_TOKENS' ? 'context_length_exceeded' : code;
  return { message: error.message, type, param: error.param, code: named };
}

/** The body of an error frame in a stream, in OpenAI's words. */
export function errorFrame(error: PlatformError): { error: object; issues?: ErrorIssue[] } {
  return { error: openaiError(error), ...(error.issues ? { issues: error.issues } : {}) };
}

/** Anthropic's names of errors that OpenAI calls otherwise, by code or by OpenAI's type. */
const anthropicTypes: Readonly<Record<string, string>> = {
  MODEL_AT_CAPACITY: 'overloaded_error',
  REQUEST_TIMEOUT: 'timeout_error',
  PAYLOAD_TOO_LARGE: 'request_too_large',
  insufficient_quota: 'billing_error',
  server_error: 'api_error',
};

/** Anthropic's error object, also used in the error event of a stream. */
export interface AnthropicError {
  type: 'error';
  error: { type: string; message: string };
  request_id: string | null;
}

/** Builds Anthropic's error object. It has no member for the invalid field, so the message names it. */
export function anthropicError(error: PlatformError, requestId: string | null): AnthropicError {
  const code = publicCodes[error.code] ?? error.code;
  const { type: openaiType } = errorEntry(code);
  const type = anthropicTypes[code] ?? anthropicTypes[openaiType] ?? openaiType;
  const { message, param } = error;
  const isNamed = param === null || message.includes(param);
  return { type: 'error', error: { type, message: isNamed ? message : `${param}: ${message}` }, request_id: requestId };
}

/** The last event of a stream of the route `url` that failed. */
export function errorEvent(error: PlatformError, url: string, requestId: string): string {
  if (!isAnthropicPath(url)) return sseData(JSON.stringify({ error: openaiError(error) }));
  return `event: error\n${sseData(JSON.stringify(anthropicError(error, requestId)))}`;
}

/** Builds the error response in the envelope of the route `url`. `isUnknown`: there is no such route. */
export function errorResponse(
  error: PlatformError,
  url: string,
  { isUnknown = false, requestId = null }: { isUnknown?: boolean; requestId?: string | null } = {},
): ErrorResponse {
  const code = publicCodes[error.code] ?? error.code;
  const status = errorEntry(code).status ?? 500;
  if (isAnthropicPath(url)) {
    const headers = { ...headersOf(error, code), ...(requestId !== null && { 'request-id': requestId }) };
    return { status, headers, body: anthropicError(error, requestId) };
  }
  const { issues } = error;
  const more = issues === undefined ? {} : { details: detailsOf(issues), issues };
  const isRefusedRpc = status === 429 && pathBelowBase(url)?.startsWith('crypto/rpc/') === true;
  const body =
    isOpenaiPath(url) || (isUnknown && isOpenaiNamespace(url))
      ? { error: openaiError(error), ...more }
      : {
          error: error.message,
          code: openaiError(error).code,
          // Clients of this route look here for the limit that they reached.
          ...(isRefusedRpc && { customMessage: error.message }),
          ...more,
        };
  return { status, headers: headersOf(error, code), body };
}
