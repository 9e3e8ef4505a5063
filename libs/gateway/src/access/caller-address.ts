import ipaddr from 'ipaddr.js';

/**
 * Who is meant by an address: of IPv6 the network of 64 bits, which is what one customer is given; an IPv4 address
 * inside IPv6 is itself.
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
