import ipaddr from 'ipaddr.js';

/** A network in CIDR notation that an operator allows although it is not global. */
export type AllowedNetwork = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Parses `10.1.0.0/16` or `fd00::/8`; null for anything else. */
export function parseNetwork(text: string): AllowedNetwork | null {
  return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : null;
}

const globalV6: AllowedNetwork = [ipaddr.parse('2000::'), 3];

/** Blocks of the global unicast range that lead elsewhere. */
const detours: AllowedNetwork[] = [
  // Protocol assignments, benchmarking, relays to IPv6, and old or new experiments.
  ...['192.0.0.0/24', '198.18.0.0/15', '192.88.99.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.175.48.0/24'],
  // Tunnels that embed an IPv4 address (6to4, Teredo); documentation, ORCHID, SRv6 and others.
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20', '5f00::/16'],
].map((text) => ipaddr.parseCIDR(text));

/**
 * Returns whether an address belongs to the public internet. IPv4 in IPv6 (mapped, translated, tunnelled) never does;
 * clients can use the IPv4 address.
 */
export function isGlobalAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (detours.some((network) => matches(parsed, network))) return false;
  return parsed.kind() === 'ipv4' || matches(parsed, globalV6);
}

/** Returns whether an address is in one of the networks; an IPv4-mapped one counts as its IPv4 address. */
export function isAllowed(address: string, networks: readonly AllowedNetwork[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some((network) => matches(parsed, network));
}

function matches(address: ipaddr.IPv4 | ipaddr.IPv6, network: AllowedNetwork): boolean {
  return address.kind() === network[0].kind() && address.match(network);
}
