/**
 * Returns how old a response the client accepts, in ms: `max-age` of its `cache-control` (RFC 9111, section 5.2.1.1). 0:
 * a new one, as without the header.
 */
export function acceptedAgeMs(cacheControl: string | undefined): number {
  if (cacheControl === undefined || /\bno-(?:cache|store)\b/i.test(cacheControl)) return 0;
  const seconds = /(?:^|,)\s*max-age=(\d{1,5})\s*(?:,|$)/i.exec(cacheControl)?.[1];
  return seconds === undefined ? 0 : Number(seconds) * 1_000;
}
