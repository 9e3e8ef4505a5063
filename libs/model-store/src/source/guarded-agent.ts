import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { pullError } from './pull-error.js';

type MayReach = (address: string) => boolean;

/** Timeouts of all requests for weights, in milliseconds. */
export const webTimeouts = { headersTimeout: 30_000, bodyTimeout: 60_000, connect: { timeout: 15_000 } };

const agents = new WeakMap<MayReach, Dispatcher>();

/**
 * Connects only to addresses that `mayReach` allows, and to exactly the address that was checked: another answer of the
 * name server in between has no effect. Proxies of the environment are not used, because they would resolve again.
 */
export function guardedAgent(mayReach: MayReach): Dispatcher {
  const agent =
    agents.get(mayReach) ??
    new Agent({ ...webTimeouts, connect: { ...webTimeouts.connect, lookup: guardedLookup(mayReach) } });
  agents.set(mayReach, agent);
  return agent;
}

/** Throws `MODEL_PULL_FAILED` for a url whose host is an address that may not be reached; names are looked up later. */
export function assertReachable({ hostname }: URL, mayReach: MayReach | undefined): void {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  if (mayReach !== undefined && isIP(address) !== 0 && !mayReach(address)) throw notPublic(hostname);
}

/** A hostile name mixes addresses, so one that is not allowed refuses all. */
function guardedLookup(mayReach: MayReach): LookupFunction {
  return (hostname, options: LookupOptions, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => mayReach(address))) {
        return callback(notPublic(hostname), []);
      }
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function notPublic(host: string): Error {
  return pullError(`${host} leads to an address that is not public.`);
}
