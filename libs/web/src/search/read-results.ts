import type { RawResult } from './search-provider.js';
import type { SearchResult } from './web-search.js';

const maxTitle = 300;
const maxSnippet = 2_000;
const maxDate = 64;
const maxUrl = 2_048;

/** Returns the usable results: an http or https URL each, none twice, texts without markup and within bounds. */
export function readResults(raw: readonly RawResult[], count: number): SearchResult[] {
  const found = new Map<string, SearchResult>();
  for (const { title, url, snippet, date } of raw) {
    if (found.size === count) break;
    const link = linkOf(url);
    if (link === null || found.has(link)) continue;
    const when = plainText(date, maxDate);
    found.set(link, {
      title: plainText(title, maxTitle) || link,
      url: link,
      snippet: plainText(snippet, maxSnippet),
      ...(when !== '' && { date: when }),
    });
  }
  return [...found.values()];
}

function linkOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > maxUrl || !URL.canParse(value)) return null;
  const { protocol, username, password, href } = new URL(value);
  const isPlain = (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
  return isPlain ? href : null;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** Providers mark the words of the query with tags, and encode the rest for HTML. */
function plainText(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') return '';
  return value
    .slice(0, maxLength * 4)
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, decoded)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed();
}

function decoded(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
}
