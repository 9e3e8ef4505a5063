import { askProvider, explainKey, type ProviderConnection, resultsIn } from './ask-provider.js';
import { readResults } from './read-results.js';
import { ProviderFault, type SearchProvider } from './search-provider.js';
import { withSiteOperators } from './sites.js';
import type { SearchQuery, SearchResult } from './web-search.js';

const explain = explainKey('SLUICE_BRAVE_SEARCH_KEY', [401, 403, 422], [402, 429]);
const freshnessCodes = { day: 'pd', week: 'pw', month: 'pm', year: 'py' } as const;

export class BraveProvider implements SearchProvider {
  readonly name = 'brave';

  constructor(
    private readonly connection: ProviderConnection,
    private readonly key: string,
    private readonly baseUrl = 'https://api.search.brave.com',
  ) {}

  async search(query: SearchQuery, signal: AbortSignal): Promise<SearchResult[]> {
    const headers = { accept: 'application/json', 'x-subscription-token': this.key };
    const body = await askProvider(this.connection, { url: this.urlOf(query), headers, explain }, signal);
    // A response without pages has no `web` at all.
    if (isEmpty(body)) return [];
    const raw = resultsIn(body, ['web', 'results'], ({ title, url, description, page_age: age }) => ({
      title,
      url,
      snippet: description,
      date: age,
    }));
    return readResults(raw, query.count);
  }

  private urlOf({ count, freshness, safeSearch = true, language, ...search }: SearchQuery): string {
    const url = new URL('/res/v1/web/search', this.baseUrl);
    url.search = new URLSearchParams({
      q: withSiteOperators(search),
      count: String(count),
      safesearch: safeSearch ? 'moderate' : 'off',
      ...(freshness !== undefined && { freshness: freshnessCodes[freshness] }),
      ...(language !== undefined && { search_lang: language }),
    }).toString();
    return url.href;
  }
}

function isEmpty(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) throw new ProviderFault('Its response is not an object.');
  return 'type' in body && body.type === 'search' && !('web' in body);
}
