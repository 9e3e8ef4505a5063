import { describeStatus, readErrorBody, RequestError, toSentence } from './request-error.js';
import { endSession, sessionState, setSession, type Session } from './session.js';

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | null | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as a form with files, instead of `body`. */
  form?: FormData;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Returns the address of a path of the service, such as `api/v1/models`, relative to the page: prefixes stay. */
export function serviceUrl(path: string, query: RequestOptions['query'] = {}): string {
  const page = location.href.split('#')[0] ?? location.href;
  const url = new URL(`../${path}`, page);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** Sends a request with the session. Throws a `RequestError` unless the response is a success. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const response = await exchange(path, options);
  if (response.status === 401) endSession('Your session has ended. Sign in again to continue.');
  if (!response.ok) throw await readError(response);
  return response;
}

export async function getJson<Body>(path: string, options: RequestOptions = {}): Promise<Body> {
  const response = await send(path, options);
  return response.status === 204 ? (undefined as Body) : ((await response.json()) as Body);
}

/** Asks who is signed in. The state becomes `signed-out` when nobody is. */
export async function loadSession(): Promise<void> {
  const response = await exchange('console/session', {});
  // A one-time link may have signed in meanwhile.
  if (sessionState().state === 'signed-in') return;
  if (response.ok) {
    setSession({ state: 'signed-in', session: (await response.json()) as Session });
  } else if (response.status === 401) {
    setSession({ state: 'signed-out', reason: null });
  } else {
    throw await readError(response);
  }
}

/** Exchanges an API key or the token of a one-time link for a session. The key itself is not kept. */
export async function signIn(credentials: { apiKey: string } | { token: string }): Promise<void> {
  const response = await exchange('console/session', { method: 'POST', body: { ...credentials, path: cookiePath() } });
  if (!response.ok) throw await readError(response);
  setSession({ state: 'signed-in', session: (await response.json()) as Session });
}

export async function signOut(): Promise<void> {
  await send('console/session', { method: 'DELETE', query: { path: cookiePath() } });
  setSession({ state: 'signed-out', reason: 'You have signed out.' });
}

/** The cookie is for the path of the service as the browser sees it, which a proxy may have lengthened. */
function cookiePath(): string {
  return new URL(serviceUrl('')).pathname;
}

async function exchange(path: string, options: RequestOptions): Promise<Response> {
  const { method = 'GET', query, body, form, signal } = options;
  const state = sessionState();
  const headers = new Headers(options.headers);
  if (state.state === 'signed-in') headers.set('x-sluice-csrf', state.session.csrf);
  if (body !== undefined) headers.set('content-type', 'application/json');
  try {
    return await fetch(serviceUrl(path, query), {
      method,
      headers,
      signal: signal ?? null,
      credentials: 'same-origin',
      body: form ?? (body === undefined ? null : JSON.stringify(body)),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new RequestError(0, 'The service does not answer. The page tries again by itself.');
  }
}

async function readError(response: Response): Promise<RequestError> {
  const text = await response.text();
  const { message, code } = readErrorBody(parseJson(text));
  const requestId = response.headers.get('x-request-id') ?? response.headers.get('cf-ray');
  return new RequestError(response.status, toSentence(message ?? describeStatus(response.status)), code, requestId);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
