import type { Dispatcher, request as UndiciRequest } from 'undici';

/** A request for JSON to a server that the operator configured. */
export interface OperatorRequest {
  /** May hold a user and a password, which are sent as basic authentication. */
  url: string;
  body: Uint8Array;
  /** Asks with GET, without a body. */
  isGet?: boolean;
  /** Value of the header, in place of user and password of the URL. */
  authorization?: string;
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

/** A response of which the beginning has arrived. */
export interface OperatorStream {
  status: number;
  head: Buffer;
  /** Null: nothing follows. */
  rest: ResponseRest | null;
}

export interface ResponseRest {
  /** As it arrives. Throws as `post` rejects; the timeout is that of each part. */
  parts: AsyncIterable<Buffer>;
  /** Ends the exchange; call it in any case. */
  cancel(): void;
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
    const { status, head, rest } = await this.open(request, request.maxBytes);
    if (rest === null) return { status, bytes: head };
    rest.cancel();
    throw tooLarge(request.maxBytes);
  }

  /**
   * Resolves when the response has ended or has more than `headBytes`. The timeout ends there. Rejects as `post` does.
   */
  async open(request: OperatorRequest, headBytes: number): Promise<OperatorStream> {
    const exchange = new Exchange(request);
    try {
      const { statusCode: status, body } = await this.send(request, exchange.signal);
      // An aborted body emits an error that may have no other listener.
      body.on('error', () => undefined);
      const parts = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
      const { bytes: head, hasEnded } = await readHead(parts, headBytes);
      if (!hasEnded) exchange.stopTimer();
      else exchange.end();
      return { status, head, rest: hasEnded ? null : exchange.pass(parts, body, request.maxBytes - head.length) };
    } catch (error) {
      exchange.end();
      throw exchange.faultOf(error);
    }
  }

  async close(): Promise<void> {
    const client = await this.client?.catch(() => null);
    await Promise.all([client?.shared.destroy(), client?.fresh.destroy()]);
  }

  private async send(
    { url, body, timeoutMs, isFresh, isGet = false, authorization }: OperatorRequest,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    // Loaded on first use: most installations have no such server, and the HTTP client takes 0.1 s at each start.
    this.client ??= openClient();
    const { request, shared, fresh } = await this.client;
    const { href, headers } = this.targetOf(url);
    const dispatcher = isFresh === true ? fresh : shared;
    return await request(href, {
      method: isGet ? 'GET' : 'POST',
      dispatcher,
      headers: authorization === undefined ? headers : { ...headers, authorization },
      body: isGet ? null : body,
      signal,
      bodyTimeout: timeoutMs,
    });
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

/** Collects parts until they end or have more bytes than this. */
async function readHead(parts: AsyncIterator<Buffer>, maxBytes: number): Promise<{ bytes: Buffer; hasEnded: boolean }> {
  const read: Buffer[] = [];
  let length = 0;
  while (length <= maxBytes) {
    const next = await parts.next();
    if (next.done === true) return { bytes: joined(read), hasEnded: true };
    read.push(next.value);
    length += next.value.length;
  }
  return { bytes: joined(read), hasEnded: false };
}

function joined(parts: Buffer[]): Buffer {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

function tooLarge(maxBytes: number): OperatorClientError {
  return new OperatorClientError('too-large', `a response of more than ${maxBytes} bytes`);
}

/** What ends an exchange: its caller or its timeout. One controller and one timer, because composed signals are slow. */
class Exchange {
  private readonly ending = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private isLate = false;

  constructor(private readonly request: Pick<OperatorRequest, 'signal' | 'timeoutMs' | 'maxBytes'>) {
    const { signal, timeoutMs } = request;
    signal.throwIfAborted();
    this.timer = setTimeout(() => ((this.isLate = true), this.ending.abort()), timeoutMs);
    signal.addEventListener('abort', this.leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  stopTimer(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.stopTimer();
    this.request.signal.removeEventListener('abort', this.leave);
  }

  /** The caller's reason, or what the operator should know. */
  faultOf(error: unknown): unknown {
    const { signal, timeoutMs } = this.request;
    if (signal.aborted) return signal.reason;
    if (error instanceof OperatorClientError) return error;
    const cause = { cause: error };
    if (this.isLate) return new OperatorClientError('unknown', `no response in ${timeoutMs} ms`, cause);
    const code = codeOf(error);
    return new OperatorClientError(faultOf(code), code, cause);
  }

  /** Passes parts on while they arrive. Canceling closes the connection. */
  pass(parts: AsyncIterator<Buffer>, body: { destroy(): unknown }, leftBytes: number): ResponseRest {
    const cancel = (): void => {
      this.end();
      body.destroy();
    };
    return { parts: this.partsOf(parts, leftBytes), cancel };
  }

  private async *partsOf(parts: AsyncIterator<Buffer>, leftBytes: number): AsyncGenerator<Buffer, void> {
    let left = leftBytes;
    try {
      for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
        left -= next.value.length;
        if (left < 0) throw tooLarge(this.request.maxBytes);
        yield next.value;
      }
    } catch (error) {
      throw this.faultOf(error);
    }
  }

  private readonly leave = (): void => this.ending.abort(this.request.signal.reason);
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
