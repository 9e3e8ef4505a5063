import { lookup } from 'node:dns/promises';

/** Address of a host to dial. */
export interface HostAddress {
  address: string;
  family: 4 | 6;
}

export interface ResolveOptions {
  /** The account that named the host. */
  owner: string;
  signal: AbortSignal;
}

/** Resolves all addresses of a host name. Tests replace it. Rejects if there is none. */
export type Resolver = (hostname: string, options: ResolveOptions) => Promise<HostAddress[]>;

/**
 * The lookup of the operating system, for names that operators configure: it also knows search domains. It takes a thread
 * of the few that this process has for as long as a name server is silent, so it is not for names of callers.
 */
export const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};
