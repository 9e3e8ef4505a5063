import { isIP } from 'node:net';
import { refusedUrl } from './egress-error.js';

const longestUrl = 8_192;

/**
 * A URL that may be asked for: http or https, a host, no user or password. The parser of the platform writes every
 * spelling of an IPv4 address (decimal, octal, hex, short) as four decimal numbers; nobody here reads spellings again.
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

/** The host of a URL without the brackets of IPv6 and the dot of an absolute name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}
