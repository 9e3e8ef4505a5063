import ipaddr from 'ipaddr.js';

/**
 * The address that counts for a client: the /64 network of an IPv6 address, which is what one customer gets, or the
 * IPv4 address of an IPv4-mapped one.
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
