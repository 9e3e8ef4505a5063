import { askProvider, explainKey, type ProviderConnection, resultsIn } from './ask-provider.js';
import { readResults } from './read-results.js';
import type { SearchProvider } from './search-provider.js';
import type { SearchQuery, SearchResult } from './web-search.js';

const explain = explainKey('SLUICE_TAVILY_KEY', [401, 403], [429, 432, 433]);

/** Has neither a language nor a safe search in its ordinary plans. */
export class TavilyProvider implements SearchProvider {
  readonly name = 'tavily';

  constructor(
    private readonly connection: ProviderConnection,
    private readonly key: string,
    private readonly baseUrl = 'https://api.tavily.com',
  ) {}

  async search({ query, count, freshness, sites }: SearchQuery, signal: AbortSignal): Promise<SearchResult[]> {
    const url = new URL('/search', this.baseUrl).href;
    const headers = { authorization: `Bearer ${this.key}` };
    const json = {
      query,
      max_results: count,
      ...(freshness !== undefined && { time_range: freshness }),
      // It has a list of hosts instead of operators.
      ...(sites !== undefined && { include_domains: [...new Set(sites.map((site) => site.split('/')[0]))] }),
    };
    const body = await askProvider(this.connection, { url, headers, json, explain }, signal);
    const raw = resultsIn(body, ['results'], (result) => ({
      title: result.title,
      url: result.url,
      snippet: result.content,
      date: result.published_date,
    }));
    return readResults(raw, count);
  }
}
