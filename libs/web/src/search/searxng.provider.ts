import { trimEndOf } from '#platform/text';
import { askProvider, type ProviderConnection, resultsIn } from './ask-provider.js';
import { readResults } from './read-results.js';
import { ProviderFault, type SearchProvider } from './search-provider.js';
import { withSiteOperators } from './sites.js';
import type { SearchQuery, SearchResult } from './web-search.js';

const formatOff =
  'Its JSON format is off (status 403): add `json` to `search.formats` in its settings.yml and restart it.';
const limited =
  'Its limiter refuses this server (status 429): set `server.limiter: false`, or add the address of this server to ' +
  '`botdetection.ip_lists.pass_ip` in its limiter.toml.';

/** A SearXNG or searx server of the operator. */
export class SearxngProvider implements SearchProvider {
  readonly name = 'searxng';

  constructor(
    private readonly connection: ProviderConnection,
    private readonly baseUrl: string,
  ) {}

  async search(query: SearchQuery, signal: AbortSignal): Promise<SearchResult[]> {
    const body = await askProvider(this.connection, { url: this.urlOf(query), explain }, signal);
    const raw = resultsIn(body, ['results'], ({ title, url, content, publishedDate }) => ({
      title,
      url,
      snippet: content,
      date: publishedDate,
    }));
    const silent = silentEngines(body);
    if (raw.length === 0 && silent !== '') throw new ProviderFault(`None of its engines answered: ${silent}.`);
    return readResults(raw, query.count);
  }

  private urlOf({ freshness, safeSearch = true, language, ...search }: SearchQuery): string {
    const url = new URL(`${trimEndOf(this.baseUrl, '/')}/search`);
    url.search = new URLSearchParams({
      q: withSiteOperators(search),
      format: 'json',
      safesearch: safeSearch ? '1' : '0',
      ...(freshness !== undefined && { time_range: freshness }),
      ...(language !== undefined && { language }),
    }).toString();
    return url.href;
  }
}

/** Names the engines that failed, and why: "wikipedia (timeout)". */
function silentEngines(body: unknown): string {
  const { unresponsive_engines: engines } = body as { unresponsive_engines?: unknown };
  if (!Array.isArray(engines)) return '';
  return engines
    .filter((entry): entry is unknown[] => Array.isArray(entry))
    .slice(0, 5)
    .map(([name, reason]) => `${String(name)} (${String(reason)})`)
    .join(', ')
    .slice(0, 300);
}

function explain(status: number): string | null {
  if (status === 403) return formatOff;
  if (status === 429) return limited;
  if (status === 404) return 'It has no /search (status 404): check SLUICE_SEARXNG_URL.';
  return null;
}
