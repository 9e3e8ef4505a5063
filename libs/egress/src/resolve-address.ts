import { lookup } from 'node:dns/promises';

/** Address of a host to dial. */
export interface HostAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves all addresses of a host name. Tests replace it. Rejects if there is none. */
export type Resolver = (hostname: string) => Promise<HostAddress[]>;

export const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};
