import type { ChatMessage } from '../../contract/chat.message.js';
import type { ChatEffectiveParameters } from '../../contract/chat.response.js';
import type { XFilter, XRequest } from './x-search.js';
import { latestUserText } from '../latest-user-message.js';

/** What a request asks of the web. */
export type WebRequest =
  | { kind: 'search'; query: string; decides: boolean; /** Set: X instead of the web. */ x?: XFilter }
  | { kind: 'scrape'; urls: string[]; skipped: number };

export const maxPages = 5;
const maxQueryLength = 400;

const address = /https?:\/\/[^\s<>"'`\\^{}|[\]]+/gi;

/** The addresses in a text, without the punctuation of its sentences; each once. */
export function addressesIn(text: string): string[] {
  const found = [...text.matchAll(address)].map(([match]) => withoutPunctuation(match));
  return [...new Set(found)].filter((url) => URL.canParse(url));
}

function withoutPunctuation(match: string): string {
  const trimmed = match.replace(/[.,;:!?*]+$/, '');
  // A closing bracket belongs to the address only if it holds the opening one.
  const isBracketed = trimmed.endsWith(')') && !trimmed.includes('(');
  return isBracketed ? withoutPunctuation(trimmed.slice(0, -1)) : trimmed;
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
