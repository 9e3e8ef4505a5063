import type { IncomingHttpHeaders } from 'node:http';

/**
 * The caller's country as the operator's proxy names it in `header`, in two letters. Undefined where no header is
 * configured, or it names no country: of whom nothing is known, nothing is refused.
 */
export function regionOf(headers: IncomingHttpHeaders, header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const region = String(headers[header.toLowerCase()] ?? '').trim();
  return /^[a-z]{2}$/i.test(region) ? region : undefined;
}
