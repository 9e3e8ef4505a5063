import type { SearchProviderName } from '#platform/config';
import type { SearchQuery, SearchResult } from './web-search.js';

/** One search service. */
export interface SearchProvider {
  readonly name: SearchProviderName;
  /** Rejects with `ProviderFault`, or with the signal's reason. */
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchResult[]>;
}

/** What is wrong with a provider. The message is for operators: it says what to fix, and names no query and no key. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
}

/** A result as a provider sends it, before anything of it is believed. */
export interface RawResult {
  title: unknown;
  url: unknown;
  snippet: unknown;
  date?: unknown;
}
