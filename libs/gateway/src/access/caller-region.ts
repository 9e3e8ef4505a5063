import type { IncomingHttpHeaders } from 'node:http';

/**
 * The client's two-letter country code from the operator's proxy, read from `header`. Undefined without a configured
 * header or country; then no region rule applies.
 */
export function regionOf(headers: IncomingHttpHeaders, header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const region = String(headers[header.toLowerCase()] ?? '').trim();
  return /^[a-z]{2}$/i.test(region) ? region : undefined;
}
