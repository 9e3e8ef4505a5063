import { isIP } from 'node:net';
import { refusedUrl } from './egress-error.js';

const longestUrl = 8_192;

/**
 * Parses a URL that may be requested: http or https, a host, no user or password. The platform's parser normalises
 * every spelling of an IPv4 address (decimal, octal, hex, short), so no other code has to.
 */
export function parseRemoteUrl(text: string, param: string | null): URL {
  if (text.length > longestUrl) throw refusedUrl(`is longer than ${longestUrl} characters`, param);
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw refusedUrl('is not a valid URL', param, error);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refusedUrl('must be an http or https URL', param);
  if (url.username !== '' || url.password !== '') throw refusedUrl('must not hold a user or a password', param);
  if (url.hostname === '') throw refusedUrl('names no host', param);
  return url;
}

/** Returns the host of a URL without the brackets of IPv6 and the trailing dot of an absolute name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}
