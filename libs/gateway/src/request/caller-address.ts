import ipaddr from 'ipaddr.js';

/**
 * Returns the client identity of an address: the /64 network of an IPv6 address, since one customer gets a /64.
 * IPv4-mapped IPv6 addresses map to the IPv4 address.
 */
export function callerAddress(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
