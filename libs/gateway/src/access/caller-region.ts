import type { IncomingHttpHeaders } from 'node:http';

/**
 * Returns the caller's two-letter country code from the proxy header `header`. Undefined when no header is configured
 * or it has no country; nothing is then refused by region.
 */
export function regionOf(headers: IncomingHttpHeaders, header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const region = String(headers[header.toLowerCase()] ?? '').trim();
  return /^[a-z]{2}$/i.test(region) ? region : undefined;
}
