import { isIP } from 'node:net';
import type { Dispatcher } from 'undici';
import { PlatformError } from '#common';
import { within } from '#platform/turns';
import { type Dialer, systemDialer } from './dialer.js';
import { refusedUrl } from './egress-error.js';
import { type AllowedNetwork, isAllowed, isGlobalAddress, parseNetwork } from './global-address.js';
import { receive } from './receive.js';
import type { RemoteFile, RemoteRequest, RemoteStream } from './remote-file.js';
import { NameResolver } from './name-resolver.js';
import type { HostAddress, Resolver } from './resolve-address.js';

const longestUrl = 8_192;

/**
 * Parses a URL that may be requested: http or https, a host, no user or password. The platform's parser normalizes
 * every spelling of an IPv4 address (decimal, octal, hex, short), so no other code has to.
 */
function parseRemoteUrl(text: string, param: string | null): URL {
  if (text.length > longestUrl) throw refusedUrl(`is longer than ${longestUrl} characters`, param);
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw refusedUrl('is not a valid URL', param, error);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refusedUrl('must be an http or https URL', param);
  if (url.username !== '' || url.password !== '') throw refusedUrl('must not hold a user or a password', param);
  if (url.hostname === '') throw refusedUrl('names no host', param);
  return url;
}

/** Returns the host of a URL without the brackets of IPv6 and the trailing dot of an absolute name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}

export interface EgressOptions {
  /** Default: a `NameResolver` for names of callers. */
  resolver?: Resolver;
  dialer?: Dialer;
  /** Networks that may be reached although they are not global, in CIDR notation. Default: none. */
  allowedNetworks?: readonly string[];
}

const defaultTimeoutMs = 30_000;
const defaultRedirects = 3;
/** Connection timeout in ms. */
const dialTimeoutMs = 10_000;
/** Maximum number of addresses tried per host. */
const maxAddresses = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches URLs that clients name; no other code does. A host is resolved once and all of its addresses must be global.
 * The connection goes to exactly the checked address, so a DNS change in between has no effect. Proxies of the
 * environment are not used, because they would resolve again.
 *
 * Errors are `INVALID_REQUEST` (it is the client's URL), `PAYLOAD_TOO_LARGE`, or the signal's reason.
 */
export class Egress {
  private readonly resolver: Resolver;
  private readonly dialer: Dialer;
  private readonly allowed: AllowedNetwork[];

  constructor({ resolver, dialer = systemDialer, allowedNetworks = [] }: EgressOptions = {}) {
    const names = new NameResolver();
    this.resolver = resolver ?? ((hostname, options) => names.resolve(hostname, options));
    this.dialer = dialer;
    this.allowed = allowedNetworks.map((text) => {
      const network = parseNetwork(text);
      if (network === null) throw new TypeError(`${text} is not a network such as 10.1.0.0/16.`);
      return network;
    });
  }

  /** Returns the whole content. */
  async read(request: RemoteRequest): Promise<RemoteFile> {
    const { url, contentType, charset, body } = await this.open(request);
    const parts: Buffer[] = [];
    for await (const part of body as AsyncIterable<Buffer>) parts.push(part);
    return { url, contentType, charset, bytes: Buffer.concat(parts) };
  }

  /** Returns the content as a stream. */
  async open(request: RemoteRequest): Promise<RemoteStream> {
    const { param = null, signal, timeoutMs = defaultTimeoutMs } = request;
    const deadline = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    const explain = (error: unknown): Error => explained(error, { signal, deadline, param });
    try {
      const { url, response } = await this.follow(request, either);
      return receive(url, response, request, explain);
    } catch (error) {
      throw explain(error);
    }
  }

  private async follow(
    request: RemoteRequest,
    signal: AbortSignal,
  ): Promise<{ url: URL; response: Dispatcher.ResponseData }> {
    const { param = null, json } = request;
    // A body must not reach another host than the one it was meant for.
    const maxRedirects = json === undefined ? (request.maxRedirects ?? defaultRedirects) : 0;
    let url = parseRemoteUrl(request.url, param);
    for (let hop = 0; ; hop += 1) {
      const response = await this.ask(url, request, signal);
      const { location } = response.headers;
      if (!redirects.has(response.statusCode) || typeof location !== 'string') return { url, response };
      response.body.destroy();
      if (hop >= maxRedirects) throw refusedUrl('redirects too often', param);
      const next = parseRemoteUrl(URL.canParse(location, url.href) ? new URL(location, url).href : location, param);
      // A request made over TLS must not continue in plain text.
      if (url.protocol === 'https:' && next.protocol !== 'https:')
        throw refusedUrl('redirects from https to http', param);
      url = next;
    }
  }

  private async ask(url: URL, request: RemoteRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const addresses = await this.addressesOf(url, request, signal);
    // Loaded on first use: many installations never fetch anything, and the HTTP client takes 0.1 s at each start.
    const { Agent, request: send } = await import('undici');
    const socket = await this.dial(url, addresses, signal);
    const agent = new Agent({
      // One request per connection: it is already open, and there is no second.
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
    const { json } = request;
    const type = json === undefined ? {} : { 'content-type': 'application/json' };
    const headers = {
      'user-agent': 'sluice',
      accept: '*/*',
      ...request.headers,
      ...type,
      'accept-encoding': 'identity',
    };
    const message = json === undefined ? ({ method: 'GET' } as const) : postOf(json);
    try {
      const response = await send(url, { dispatcher: agent, headers, signal, ...message });
      // An aborted body emits an error that may have no other listener.
      response.body.on('error', () => undefined).once('close', () => void agent.destroy());
      return response;
    } catch (error) {
      await agent.destroy();
      throw error;
    }
  }

  /** Returns every address of the host after checking all of them. */
  private async addressesOf(url: URL, request: RemoteRequest, signal: AbortSignal): Promise<HostAddress[]> {
    const { owner, param = null } = request;
    const host = hostOf(url);
    const addresses: HostAddress[] = isAddress(host)
      ? [{ address: host, family: host.includes(':') ? 6 : 4 }]
      : await within(signal, this.resolver(host, { owner, signal })).catch((error: unknown) => {
          signal.throwIfAborted();
          if (error instanceof PlatformError) throw error;
          throw refusedUrl('names a host that cannot be found', param, error);
        });
    if (addresses.length === 0) throw refusedUrl('names a host that cannot be found', param);
    const isGood = ({ address }: HostAddress): boolean => isGlobalAddress(address) || isAllowed(address, this.allowed);
    // A hostile name mixes addresses, so one bad address rejects all.
    if (!addresses.every(isGood)) throw refusedUrl('leads to an address that is not public', param);
    return addresses.slice(0, maxAddresses);
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

function postOf(json: object): { method: 'POST'; body: string } {
  return { method: 'POST', body: JSON.stringify(json) };
}

/** Turns failures into an error for the client; an abort rethrows its reason. */
function explained(
  error: unknown,
  { signal, deadline, param }: { signal?: AbortSignal; deadline: AbortSignal; param: string | null },
): Error {
  if (error instanceof PlatformError) return error;
  if (signal?.aborted === true) return signal.reason instanceof Error ? signal.reason : new Error('stopped');
  if (deadline.aborted) return refusedUrl('did not answer in time', param, error);
  return refusedUrl('could not be fetched', param, error);
}
