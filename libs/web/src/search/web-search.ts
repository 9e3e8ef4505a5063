export const searchFreshness = ['day', 'week', 'month', 'year'] as const;
export type SearchFreshness = (typeof searchFreshness)[number];

export interface SearchQuery {
  query: string;
  /** Maximum number of results, 1 to 20. */
  count: number;
  /** Maximum age of the pages. Default: any. */
  freshness?: SearchFreshness;
  /** Default: true. */
  safeSearch?: boolean;
  /** Two-letter language of the results, such as `de`. Default: any. */
  language?: string;
  /** The only provider to ask. Default: all, in their order. */
  provider?: string;
  /** Hosts, or hosts with the first member of a path, whose pages are wanted. Default: any. */
  sites?: readonly string[];
  excludedSites?: readonly string[];
  /** Whose results may be stored and used again, such as an account id. Default: nothing is stored. */
  scope?: string;
}

export interface SearchResult {
  title: string;
  /** Absolute http or https URL. */
  url: string;
  /** Plain text, without markup. */
  snippet: string;
  /** As the provider writes it. */
  date?: string;
}

export interface SearchResponse {
  /** Name of the provider that responded. */
  provider: string;
  results: SearchResult[];
}

/** Searches the web through the providers that the operator configured. */
export abstract class WebSearch {
  /** Whether any provider is set. Without one nothing leaves the platform. */
  abstract readonly isConfigured: boolean;

  abstract hasProvider(name: string): boolean;

  /** Rejects with `WebFault`, or with the signal's reason. */
  abstract search(query: SearchQuery, signal: AbortSignal): Promise<SearchResponse>;
}
