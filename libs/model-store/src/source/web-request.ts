import { EnvHttpProxyAgent, request, type Dispatcher } from 'undici';
import { assertReachable, guardedAgent, webTimeouts } from './guarded-agent.js';
import { InterruptedDownloadError, pullError } from './pull-error.js';
import type { RangeResponse } from './resumable-download.js';
import { assertFetchable } from './source-uri.js';

export interface WebRequest {
  url: URL;
  /** Sent only to the first host, never across a redirect to another origin. */
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The check of `SourceSettings`, for every address that the names of the url and of its redirects mean. */
  mayReach?: (address: string) => boolean;
}

const maxRedirects = 5;
let sharedAgent: Dispatcher | null = null;

/** Supports the usual proxy variables; one connection pool for all downloads of the process. */
export function webAgent(): Dispatcher {
  sharedAgent ??= new EnvHttpProxyAgent(webTimeouts);
  return sharedAgent;
}

/** Opens a url at an offset for `downloadResumable`, following redirects only to https (and loopback). */
export async function openWebRange(web: WebRequest, offset: number, validator: string | null): Promise<RangeResponse> {
  const range: Record<string, string> = { 'accept-encoding': 'identity' };
  if (offset > 0) {
    range['range'] = `bytes=${offset}-`;
    // Without it, a file that changed in between would be joined from two versions.
    if (validator !== null) range['if-range'] = validator;
  }
  const response = await followRedirects(web, range);
  if (response.statusCode === 416) {
    await response.body.dump();
    return openWebRange(web, 0, null);
  }
  return toRangeResponse(response, offset, web.url);
}

/** Reads `length` bytes from `position` on, and the size of the whole file. Fails where the server sends no ranges. */
export async function readWebRange(
  web: WebRequest,
  position: number,
  length: number,
): Promise<{ content: Uint8Array<ArrayBuffer>; totalBytes: number }> {
  const range = `bytes=${position}-${position + length - 1}`;
  const response = await followRedirects(web, { range, 'accept-encoding': 'identity' });
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(single(response.headers['content-range']) ?? '') ?? [];
  if (response.statusCode !== 206 || Number(start) !== position) {
    // Not dumped: it may be the whole file.
    response.body.destroy();
    if (response.statusCode >= 400) throw statusError(response.statusCode, web.url);
    throw pullError(`${web.url.host} sends no parts of files; download the file and add it from this disk.`);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > length) break;
    chunks.push(chunk);
  }
  return { content: new Uint8Array(Buffer.concat(chunks)), totalBytes: Number(total) };
}

/** Returns a small text with the status of its response. */
export async function fetchWebText(web: WebRequest): Promise<{ statusCode: number; text: string }> {
  const { statusCode, body } = await followRedirects(web, {});
  return { statusCode, text: await body.text() };
}

async function followRedirects(web: WebRequest, range: Record<string, string>): Promise<Dispatcher.ResponseData> {
  let url = web.url;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    assertFetchable(url);
    assertReachable(url, web.mayReach);
    const headers = url.origin === web.url.origin ? web.headers : {};
    const dispatcher = web.mayReach === undefined ? webAgent() : guardedAgent(web.mayReach);
    const response = await request(url, { headers: { ...headers, ...range }, signal: web.signal, dispatcher });
    const location = response.headers['location'];
    if (response.statusCode < 300 || response.statusCode >= 400 || typeof location !== 'string') return response;
    await response.body.dump();
    url = new URL(location, url);
  }
  throw pullError(`${web.url.host} redirects more than ${maxRedirects} times.`);
}

async function toRangeResponse(response: Dispatcher.ResponseData, offset: number, url: URL): Promise<RangeResponse> {
  const { statusCode, headers, body } = response;
  if (statusCode !== 200 && statusCode !== 206) {
    await body.dump();
    throw statusError(statusCode, url);
  }
  const length = Number(headers['content-length'] ?? Number.NaN);
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(single(headers['content-range']) ?? '') ?? [];
  const resumed = statusCode === 206 && Number(start) === offset;
  if (statusCode === 206 && !resumed) throw new InterruptedDownloadError(`${url.host} answered another range`);
  const whole = resumed ? Number(total) : length;
  return {
    offset: resumed ? offset : 0,
    totalBytes: Number.isFinite(whole) ? whole : null,
    validator: strongTag(single(headers['etag'])) ?? single(headers['last-modified']) ?? null,
    body,
  };
}

/** A weak ETag is not allowed in `If-Range`; the date is. */
function strongTag(value: string | undefined): string | null {
  return value === undefined || value.startsWith('W/') ? null : value;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function statusError(status: number, url: URL): Error {
  const where = `${url.host}${url.pathname}`;
  if (status === 401 || status === 403) return pullError(`${where} answered ${status}: a token with access is needed.`);
  if (status === 404) return pullError(`${where} does not exist (404).`);
  if (status === 429 || status >= 500) return new InterruptedDownloadError(`${where} answered ${status}`);
  return pullError(`${where} answered ${status}.`);
}
