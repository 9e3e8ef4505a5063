import type { Dispatcher } from 'undici';
import { PlatformError } from '#common';
import { type Dialer, systemDialer } from './dialer.js';
import { refusedUrl } from './egress-error.js';
import { type AllowedNetwork, isAllowed, isGlobalAddress, parseNetwork } from './global-address.js';
import { receive } from './receive.js';
import type { RemoteFile, RemoteRequest, RemoteStream } from './remote-file.js';
import { hostOf, isAddress, parseRemoteUrl } from './remote-url.js';
import { type HostAddress, type Resolver, systemResolver } from './resolve-address.js';

export interface EgressOptions {
  resolver?: Resolver;
  dialer?: Dialer;
  /** Networks that may be reached although they are not global, in CIDR notation. Default: none. */
  allowedNetworks?: readonly string[];
}

const defaultTimeoutMs = 30_000;
const defaultRedirects = 3;
/** How long a connection may take, in ms. */
const dialTimeoutMs = 10_000;
/** Addresses of one host that are tried. */
const maxAddresses = 3;
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
    const explain = (error: unknown): Error => explained(error, { signal, deadline, param });
    try {
      const { url, answer } = await this.follow(request, either);
      return receive(url, answer, request, explain);
    } catch (error) {
      throw explain(error);
    }
  }

  private async follow(
    request: RemoteRequest,
    signal: AbortSignal,
  ): Promise<{ url: URL; answer: Dispatcher.ResponseData }> {
    const { param = null, maxRedirects = defaultRedirects } = request;
    let url = parseRemoteUrl(request.url, param);
    for (let hop = 0; ; hop += 1) {
      const answer = await this.ask(url, request, signal);
      const { location } = answer.headers;
      if (!redirects.has(answer.statusCode) || typeof location !== 'string') return { url, answer };
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
    // Many installations never fetch anything, and the client of the web is a tenth of a second at each start.
    const { Agent, request: send } = await import('undici');
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

/** What went wrong, for the caller; what stopped us, for whoever did. */
function explained(
  error: unknown,
  { signal, deadline, param }: { signal?: AbortSignal; deadline: AbortSignal; param: string | null },
): Error {
  if (error instanceof PlatformError) return error;
  if (signal?.aborted === true) return signal.reason instanceof Error ? signal.reason : new Error('stopped');
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
