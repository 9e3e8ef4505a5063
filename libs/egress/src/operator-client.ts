import type { Dispatcher } from 'undici';

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
  private agents: Promise<{ shared: Dispatcher; fresh: Dispatcher }> | null = null;

  /** Rejects with `OperatorClientError`, or with the signal's reason. */
  async post(request: OperatorRequest): Promise<OperatorResponse> {
    const { signal, timeoutMs } = request;
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      return await this.send(request, AbortSignal.any([signal, deadline]));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OperatorClientError) throw error;
      if (deadline.aborted)
        throw new OperatorClientError('unknown', `no response in ${timeoutMs} ms`, { cause: error });
      const code = codeOf(error);
      throw new OperatorClientError(faultOf(code), code, { cause: error });
    }
  }

  async close(): Promise<void> {
    const agents = await this.agents?.catch(() => null);
    await Promise.all([agents?.shared.destroy(), agents?.fresh.destroy()]);
  }

  private async send(
    { url, body, maxBytes, isFresh, isGet = false, ...options }: OperatorRequest,
    signal: AbortSignal,
  ): Promise<OperatorResponse> {
    // Loaded on first use: most installations have no such server, and the HTTP client takes 0.1 s at each start.
    this.agents ??= openAgents();
    const { shared, fresh } = await this.agents;
    const { request } = await import('undici');
    const { href, authorization: user } = splitUser(url);
    const authorization = options.authorization ?? user;
    const response = await request(href, {
      method: isGet ? 'GET' : 'POST',
      dispatcher: isFresh === true ? fresh : shared,
      headers: {
        'user-agent': 'sluice',
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(authorization !== null && { authorization }),
      },
      body: isGet ? null : body,
      signal,
    });
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
    return { status: response.statusCode, bytes: Buffer.concat(parts, length) };
  }
}

async function openAgents(): Promise<{ shared: Dispatcher; fresh: Dispatcher }> {
  const { Agent } = await import('undici');
  const connect = { timeout: connectTimeoutMs };
  return {
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
