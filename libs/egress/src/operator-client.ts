import type { Dispatcher, request as UndiciRequest } from 'undici';

/** A POST of JSON to a server that the operator configured. */
export interface OperatorRequest {
  /** May hold a user and a password, which are sent as basic authentication. */
  url: string;
  body: Uint8Array;
  /** For the whole exchange, in ms. */
  timeoutMs: number;
  /** Longest response, in bytes. */
  maxBytes: number;
  signal: AbortSignal;
  /** Opens a connection for this request, so that none is lost with a connection that the server has just closed. */
  isFresh?: boolean;
}

export interface OperatorResponse {
  status: number;
  bytes: Buffer;
}

/**
 * Why there is no response:
 *
 * - `not-sent`: no connection could be made, so the server has not seen the request.
 * - `lost`: the connection ended; the server may have processed it.
 * - `unknown`: the server may have processed it.
 * - `too-large`: its response is larger than the request allows.
 */
export type OperatorFault = 'not-sent' | 'lost' | 'unknown' | 'too-large';

/** The message is for the operator's log: it names neither URL nor key. */
export class OperatorClientError extends Error {
  override readonly name = 'OperatorClientError';

  constructor(
    readonly fault: OperatorFault,
    message: string,
    options: ErrorOptions = {},
  ) {
    super(message, options);
  }
}

const connectTimeoutMs = 3_000;
const keepAliveMs = 4_000;

/** Codes of errors that end an attempt to connect. */
const connectCodes = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Codes of errors that end a connection, such as one that the server closed while it was idle. */
const lostCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

function faultOf(code: string): OperatorFault {
  if (connectCodes.has(code)) return 'not-sent';
  return lostCodes.has(code) ? 'lost' : 'unknown';
}

/**
 * Talks to servers of the operator over connections that stay open. Unlike `Egress`, it reaches private addresses, so no
 * URL of a caller may come here. Redirects are not followed: they would carry the key and the request elsewhere.
 */
export class OperatorClient {
  private client: Promise<OpenClient> | null = null;
  private readonly targets = new Map<string, Target>();

  /** Rejects with `OperatorClientError`, or with the signal's reason. */
  async post(request: OperatorRequest): Promise<OperatorResponse> {
    const { signal, timeoutMs } = request;
    signal.throwIfAborted();
    // One controller and one timer: composed signals take as long as all the rest.
    const ending = new AbortController();
    let isLate = false;
    const leave = (): void => ending.abort(signal.reason);
    const timer = setTimeout(() => ((isLate = true), ending.abort()), timeoutMs);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await this.send(request, ending.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OperatorClientError) throw error;
      if (isLate) throw new OperatorClientError('unknown', `no response in ${timeoutMs} ms`, { cause: error });
      const code = codeOf(error);
      throw new OperatorClientError(faultOf(code), code, { cause: error });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  async close(): Promise<void> {
    const client = await this.client?.catch(() => null);
    await Promise.all([client?.shared.destroy(), client?.fresh.destroy()]);
  }

  private async send(
    { url, body, maxBytes, isFresh }: OperatorRequest,
    signal: AbortSignal,
  ): Promise<OperatorResponse> {
    // Loaded on first use: most installations have no such server, and the HTTP client takes 0.1 s at each start.
    this.client ??= openClient();
    const { request, shared, fresh } = await this.client;
    const { href, headers } = this.targetOf(url);
    const dispatcher = isFresh === true ? fresh : shared;
    const response = await request(href, { method: 'POST', dispatcher, headers, body, signal });
    // An aborted body emits an error that may have no other listener.
    response.body.on('error', () => undefined);
    const parts: Buffer[] = [];
    let length = 0;
    for await (const part of response.body as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > maxBytes) {
        response.body.destroy();
        throw new OperatorClientError('too-large', `a response of more than ${maxBytes} bytes`);
      }
      parts.push(part);
    }
    return { status: response.statusCode, bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts) };
  }

  /** URLs are those of the operator's settings, so there are few. */
  private targetOf(url: string): Target {
    const known = this.targets.get(url);
    if (known !== undefined) return known;
    const { href, authorization } = splitUser(url);
    const headers = { ...plainHeaders, ...(authorization !== null && { authorization }) };
    const target = { href, headers };
    this.targets.set(url, target);
    return target;
  }
}

const plainHeaders = {
  'user-agent': 'sluice',
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'identity',
};

/** Where a URL of the operator leads. */
interface Target {
  href: string;
  headers: Record<string, string>;
}

interface OpenClient {
  request: typeof UndiciRequest;
  shared: Dispatcher;
  fresh: Dispatcher;
}

async function openClient(): Promise<OpenClient> {
  const { Agent, request } = await import('undici');
  const connect = { timeout: connectTimeoutMs };
  return {
    request,
    shared: new Agent({ connect, connections: 64, keepAliveTimeout: keepAliveMs }),
    fresh: new Agent({ connect, connections: 64, pipelining: 0 }),
  };
}

function splitUser(text: string): { href: string; authorization: string | null } {
  const url = new URL(text);
  const { username, password } = url;
  if (username === '' && password === '') return { href: url.href, authorization: null };
  url.username = url.password = '';
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { href: url.href, authorization: `Basic ${Buffer.from(user).toString('base64')}` };
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'failed';
}
