import type { ChatMessage } from '../../contract/chat.message.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { XFilter, XRequest } from './x-search.js';
import { latestUserText } from '../job/latest-user-message.js';

/** What a request asks of the web. */
export type WebRequest =
  | { kind: 'search'; query: string; decides: boolean; /** Set: X instead of the web. */ x?: XFilter }
  | { kind: 'scrape'; urls: string[]; skipped: number };

export const maxPages = 5;
const maxQueryLength = 400;

const address = /https?:\/\/[^\s<>"'`\\^{}|[\]]+/gi;
/** `egress` refuses longer ones. */
const maxAddressLength = 8_192;
/** Addresses of a text that are looked at. */
const maxAddresses = 200;

/** The first addresses in a text, without the punctuation of its sentences; each once. */
export function addressesIn(text: string): string[] {
  const found = new Set<string>();
  let looked = 0;
  for (const [match] of text.matchAll(address)) {
    const url = withoutPunctuation(match);
    if (url.length <= maxAddressLength && URL.canParse(url)) found.add(url);
    looked += 1;
    if (looked === maxAddresses) break;
  }
  return [...found];
}

function withoutPunctuation(match: string): string {
  // A closing bracket belongs to the address only if it holds the opening one.
  const opening = match.indexOf('(');
  let end = match.length;
  for (; end > 0; end -= 1) {
    const last = match.charAt(end - 1);
    const isForeign = last === ')' && (opening < 0 || opening >= end);
    if (!isForeign && !'.,;:!?*'.includes(last)) break;
  }
  return match.slice(0, end);
}

export function queryOf(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= maxQueryLength ? line : line.slice(0, maxQueryLength).replace(/\s\S*$/, '');
}

/**
 * What a request asks of the web; null if nothing. Pages are read instead of a search where the latest user message
 * names some, and X is searched instead of the web.
 */
export function webRequestOf(
  { enable_web_scraping: scrapes, enable_web_search: search }: ChatEffectiveParameters,
  messages: readonly ChatMessage[],
  x: XRequest | null = null,
): WebRequest | null {
  const text = latestUserText(messages);
  if (scrapes) {
    const urls = addressesIn(text);
    if (urls.length > 0) return { kind: 'scrape', urls: urls.slice(0, maxPages), skipped: urls.slice(maxPages).length };
  }
  const query = queryOf(text);
  if (query !== '' && x !== null) return { kind: 'search', query, decides: x.decides, x: x.filter };
  if (search === 'off' || query === '') return null;
  return { kind: 'search', query, decides: search === 'auto' };
}
