import { pipeline, Transform, type Readable } from 'node:stream';
import { Agent, type Dispatcher, request as send } from 'undici';
import { type Dialer, systemDialer } from './dialer.js';
import { refusedUrl, remoteTooLarge } from './egress-error.js';
import { type AllowedNetwork, isAllowed, isGlobalAddress, parseNetwork } from './global-address.js';
import { hostOf, isAddress, parseRemoteUrl } from './remote-url.js';
import { type HostAddress, type Resolver, systemResolver } from './resolve-address.js';

export interface EgressOptions {
  resolver?: Resolver;
  dialer?: Dialer;
  /** Networks that may be reached although they are not global, in CIDR notation. Default: none. */
  allowedNetworks?: readonly string[];
}

export interface RemoteRequest {
  url: string;
  /** Bytes of the body; one more fails with `PAYLOAD_TOO_LARGE`. */
  maxBytes: number;
  /** `image/png`, or `image/*` for all of a kind. Default: any. */
  contentTypes?: readonly string[];
  /** From the first look-up to the last byte, in ms. Default 30 s. */
  timeoutMs?: number;
  /** Each is judged as the first URL was. Default 3; 0 refuses any. */
  maxRedirects?: number;
  /** Sent with every request of the way; nothing of the caller's own. */
  headers?: Readonly<Record<string, string>>;
  /** Field to name in errors. */
  param?: string;
  signal?: AbortSignal;
}

export interface RemoteStream {
  /** Where it was found in the end. */
  url: string;
  /** Lower case, without parameters; empty when the server names none. */
  contentType: string;
  /** As the server says it; null when it does not. */
  totalBytes: number | null;
  /** Fails with a `PlatformError` when it breaks off or grows too large. Destroy it when you stop early. */
  body: Readable;
}

export interface RemoteFile {
  url: string;
  contentType: string;
  bytes: Buffer;
}

const defaultTimeoutMs = 30_000;
const defaultRedirects = 3;
/** How long a connection may take, in ms. */
const dialTimeoutMs = 10_000;
/** Addresses of one host that are tried. */
const mostAddresses = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * The one door to URLs that callers name. A host is resolved once, every address it has must be global, and the
 * connection goes to the very address that was judged: a name that changes its mind meanwhile changes nothing. Proxies
 * of the environment are not used, for they would resolve again.
 *
 * Refusals and failures are `INVALID_REQUEST` (they are the caller's URL), `PAYLOAD_TOO_LARGE`, or the signal's reason.
 */
export class Egress {
  private readonly resolver: Resolver;
  private readonly dialer: Dialer;
  private readonly allowed: AllowedNetwork[];

  constructor({ resolver = systemResolver, dialer = systemDialer, allowedNetworks = [] }: EgressOptions = {}) {
    this.resolver = resolver;
    this.dialer = dialer;
    this.allowed = allowedNetworks.map((text) => {
      const network = parseNetwork(text);
      if (network === null) throw new TypeError(`${text} is not a network such as 10.1.0.0/16.`);
      return network;
    });
  }

  /** The whole content. */
  async read(request: RemoteRequest): Promise<RemoteFile> {
    const { url, contentType, body } = await this.open(request);
    const parts: Buffer[] = [];
    for await (const part of body as AsyncIterable<Buffer>) parts.push(part);
    return { url, contentType, bytes: Buffer.concat(parts) };
  }

  /** The content as it arrives. */
  async open(request: RemoteRequest): Promise<RemoteStream> {
    const { param = null, signal, timeoutMs = defaultTimeoutMs } = request;
    const deadline = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    try {
      return await this.follow(request, either);
    } catch (error) {
      signal?.throwIfAborted();
      throw explain(error, deadline, param);
    }
  }

  private async follow(request: RemoteRequest, signal: AbortSignal): Promise<RemoteStream> {
    const { param = null, maxRedirects = defaultRedirects } = request;
    let url = parseRemoteUrl(request.url, param);
    for (let hop = 0; ; hop += 1) {
      const answer = await this.ask(url, request, signal);
      const { location } = answer.headers;
      if (!redirects.has(answer.statusCode) || typeof location !== 'string') {
        return receive(url, answer, request, signal);
      }
      answer.body.destroy();
      if (hop >= maxRedirects) throw refusedUrl('redirects too often', param);
      const next = parseRemoteUrl(URL.canParse(location, url.href) ? new URL(location, url).href : location, param);
      // What was asked for in secret is not fetched in the open.
      if (url.protocol === 'https:' && next.protocol !== 'https:')
        throw refusedUrl('redirects from https to http', param);
      url = next;
    }
  }

  private async ask(url: URL, request: RemoteRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const addresses = await this.addressesOf(url, request.param ?? null, signal);
    const socket = await this.dial(url, addresses, signal);
    const agent = new Agent({
      // One request, one connection: it stands already, and there is no second.
      connect: (_options, callback) => {
        setImmediate(() => {
          if (socket.destroyed) callback(new Error('the connection is closed'), null);
          else callback(null, socket);
        });
      },
      pipelining: 1,
      connections: 1,
      maxHeaderSize: 16_384,
      keepAliveTimeout: 1,
    });
    const headers = { 'user-agent': 'sluice', accept: '*/*', ...request.headers, 'accept-encoding': 'identity' };
    try {
      const answer = await send(url, { dispatcher: agent, headers, signal, method: 'GET' });
      // A body that is given up says so by an error that nobody else may be there to hear.
      answer.body.on('error', () => undefined).once('close', () => void agent.destroy());
      return answer;
    } catch (error) {
      await agent.destroy();
      throw error;
    }
  }

  /** Every address of the host, all of them judged good. */
  private async addressesOf(url: URL, param: string | null, signal: AbortSignal): Promise<HostAddress[]> {
    const host = hostOf(url);
    const addresses: HostAddress[] = isAddress(host)
      ? [{ address: host, family: host.includes(':') ? 6 : 4 }]
      : await within(signal, this.resolver(host)).catch((error: unknown) => {
          signal.throwIfAborted();
          throw refusedUrl('names a host that cannot be found', param, error);
        });
    if (addresses.length === 0) throw refusedUrl('names a host that cannot be found', param);
    const isGood = ({ address }: HostAddress): boolean => isGlobalAddress(address) || isAllowed(address, this.allowed);
    // One bad address among good ones is how a name is made that leads inside every other time.
    if (!addresses.every(isGood)) throw refusedUrl('leads to an address that is not public', param);
    return addresses.slice(0, mostAddresses);
  }

  private async dial(url: URL, addresses: HostAddress[], signal: AbortSignal): Promise<Awaited<ReturnType<Dialer>>> {
    const isSecure = url.protocol === 'https:';
    const port = Number(url.port || (isSecure ? 443 : 80));
    let failure: unknown;
    for (const { address, family } of addresses) {
      try {
        const host = hostOf(url);
        const serverName = isSecure ? (isAddress(host) ? '' : host) : null;
        return await this.dialer({ address, family, port, serverName }, { timeoutMs: dialTimeoutMs, signal });
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure;
  }
}

function receive(
  url: URL,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  request: RemoteRequest,
  signal: AbortSignal,
): RemoteStream {
  const { maxBytes, contentTypes, param = null } = request;
  try {
    if (statusCode !== 200) throw refusedUrl(`answered with status ${statusCode}`, param);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw refusedUrl('answers compressed although it was asked not to', param);
    const contentType = String(headers['content-type'] ?? '')
      .split(';', 1)
      .join('')
      .trim()
      .toLowerCase();
    if (contentTypes !== undefined && !contentTypes.some((wanted) => fits(contentType, wanted))) {
      throw refusedUrl(`leads to content of another type than ${contentTypes.join(', ')}`, param);
    }
    const length = Number(headers['content-length'] ?? Number.NaN);
    if (length > maxBytes) throw remoteTooLarge(maxBytes, param);
    const totalBytes = Number.isFinite(length) ? length : null;
    return { url: url.href, contentType, totalBytes, body: capped(body, { maxBytes, param, signal }) };
  } catch (error) {
    body.destroy();
    throw error;
  }
}

function fits(contentType: string, wanted: string): boolean {
  return wanted.endsWith('/*') ? contentType.startsWith(wanted.slice(0, -1)) : contentType === wanted;
}

/** Counts as it passes on, and says what broke in our words. */
function capped(
  body: Readable,
  { maxBytes, param, signal }: { maxBytes: number; param: string | null; signal: AbortSignal },
): Readable {
  let bytes = 0;
  const counter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done(bytes > maxBytes ? remoteTooLarge(maxBytes, param) : null, chunk);
    },
  });
  body.once('error', (error) => counter.destroy(explain(error, signal, param)));
  pipeline(body, counter, () => undefined);
  return counter;
}

function explain(error: unknown, deadline: AbortSignal, param: string | null): Error {
  if (error instanceof Error && error.name === 'PlatformError') return error;
  if (deadline.aborted) return refusedUrl('did not answer in time', param, error);
  return refusedUrl('could not be fetched', param, error);
}

/** Look-ups cannot be stopped; we stop waiting for them. */
async function within<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
