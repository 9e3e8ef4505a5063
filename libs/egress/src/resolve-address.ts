import { lookup } from 'node:dns/promises';

/** An address of a host as it will be dialed. */
export interface HostAddress {
  address: string;
  family: 4 | 6;
}

/** Finds all addresses of a host name. Tests bring their own. Rejects when there is none. */
export type Resolver = (hostname: string) => Promise<HostAddress[]>;

export const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};
