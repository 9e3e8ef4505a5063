import { Resolver as NameServers } from 'node:dns/promises';
import { AccountSlots } from '#platform/turns';
import { HostsFile } from './hosts-file.js';
import type { HostAddress, ResolveOptions } from './resolve-address.js';

export interface NameResolverOptions {
  /** Addresses of name servers, with ports. Default: those of the machine. */
  servers?: readonly string[];
  /** Time of the first query, in ms; later ones take longer. */
  queryMs?: number;
  /** Queries for a name before it counts as not found. */
  tries?: number;
  /** Lookups at once of one account. */
  lookupsPerOwner?: number;
  hosts?: Pick<HostsFile, 'find'>;
  nowMs?: () => number;
}

const maxLookups = 256;
/** Time until a name that was not found is looked up again, in ms. */
const missingMs = 5_000;
const maxMissing = 1_000;

/**
 * Resolves names that callers chose, without the threads that `dns.lookup` shares with connections to the stores. A
 * lookup has a time limit and ends when its caller leaves; an account with too many waits for itself. Names are
 * absolute: search domains do not apply. The hosts file comes first, as in the system's own lookup.
 */
export class NameResolver {
  private readonly options: Required<Omit<NameResolverOptions, 'servers'>> & Pick<NameResolverOptions, 'servers'>;
  private readonly slots: AccountSlots;
  /** When names that were not found are looked up again. */
  private readonly missing = new Map<string, number>();

  constructor({
    servers,
    queryMs = 2_000,
    tries = 2,
    lookupsPerOwner = 8,
    hosts = new HostsFile(),
    nowMs = () => performance.now(),
  }: NameResolverOptions = {}) {
    this.options = { servers, queryMs, tries, lookupsPerOwner, hosts, nowMs };
    this.slots = new AccountSlots({
      slots: maxLookups,
      slotsPerOwner: lookupsPerOwner,
      maxWaiting: 4 * maxLookups,
      maxWaitingPerOwner: 64,
      maxWaitMs: 30_000,
      work: 'hosts are being looked up',
    });
  }

  /** Rejects if there is no address, as `AccountSlots.run` does, and with the signal's reason. */
  async resolve(hostname: string, { owner, signal }: ResolveOptions): Promise<HostAddress[]> {
    const name = hostname.toLowerCase();
    const known = await this.options.hosts.find(name);
    if (known.length > 0) return known;
    // Loopback by definition (RFC 6761); name servers are not asked.
    if (name === 'localhost' || name.endsWith('.localhost')) return [{ address: '127.0.0.1', family: 4 }];
    if ((this.missing.get(name) ?? 0) > this.options.nowMs()) throw new Error('the name was not found a moment ago');
    return await this.slots.run(owner, () => this.lookUp(name, signal), signal);
  }

  private async lookUp(name: string, signal: AbortSignal): Promise<HostAddress[]> {
    const { queryMs: timeout, tries, servers } = this.options;
    const resolver = new NameServers({ timeout, tries });
    if (servers !== undefined) resolver.setServers(servers);
    const onAbort = (): void => resolver.cancel();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      signal.throwIfAborted();
      const found = alternating(addressesIn(v4, 4), addressesIn(v6, 6));
      if (found.length > 0) return found;
      this.remember(name);
      throw v4.status === 'rejected' ? v4.reason : new Error('the name has no address');
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  private remember(name: string): void {
    this.missing.delete(name);
    this.missing.set(name, this.options.nowMs() + missingMs);
    const [oldest] = this.missing.keys();
    if (this.missing.size > maxMissing && oldest !== undefined) this.missing.delete(oldest);
  }
}

function addressesIn(result: PromiseSettledResult<string[]>, family: 4 | 6): HostAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}

/** Both kinds early, because few addresses of a host are dialed and a machine may reach one kind only. */
function alternating(left: readonly HostAddress[], right: readonly HostAddress[]): HostAddress[] {
  const length = Math.max(left.length, right.length);
  const pairs = Array.from({ length }, (_, index) => [left[index], right[index]]);
  return pairs.flat().filter((address) => address !== undefined);
}
