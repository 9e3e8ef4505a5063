import { askProvider, explainKey, type ProviderConnection, resultsIn } from './ask-provider.js';
import { readResults } from './read-results.js';
import type { SearchProvider } from './search-provider.js';
import { withSiteOperators } from './sites.js';
import type { SearchQuery, SearchResult } from './web-search.js';

const explain = explainKey('SLUICE_SERPER_KEY', [401, 403], [400, 402, 429]);
const freshnessCodes = { day: 'qdr:d', week: 'qdr:w', month: 'qdr:m', year: 'qdr:y' } as const;

/** Documents no safe search. */
export class SerperProvider implements SearchProvider {
  readonly name = 'serper';

  constructor(
    private readonly connection: ProviderConnection,
    private readonly key: string,
    private readonly baseUrl = 'https://google.serper.dev',
  ) {}

  async search({ count, freshness, language, ...query }: SearchQuery, signal: AbortSignal): Promise<SearchResult[]> {
    const url = new URL('/search', this.baseUrl).href;
    const json = {
      q: withSiteOperators(query),
      num: count,
      ...(freshness !== undefined && { tbs: freshnessCodes[freshness] }),
      ...(language !== undefined && { hl: language }),
    };
    const body = await askProvider(this.connection, { url, headers: { 'x-api-key': this.key }, json, explain }, signal);
    const raw = resultsIn(body, ['organic'], ({ title, link, snippet, date }) => ({ title, url: link, snippet, date }));
    return readResults(raw, count);
  }
}
