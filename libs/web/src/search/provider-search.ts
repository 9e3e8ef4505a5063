import { type Clock, systemClock } from '#common';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import { WebFault } from '../web-fault.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { SearchCache } from './search-cache.js';
import { type SearchObserver, searchMetrics } from './search-metrics.js';
import { ProviderFault, type SearchProvider } from './search-provider.js';
import { isOnSites } from './sites.js';
import { type SearchQuery, type SearchResponse, WebSearch } from './web-search.js';

export interface ProviderSearchOptions {
  /** In the order in which they are asked. */
  providers: readonly SearchProvider[];
  logger: Pick<Logger, 'warn'>;
  /** Null: results are not stored. */
  cache?: Pick<SearchCache, 'find' | 'add'> | null;
  /** Default: nothing is counted. */
  metrics?: Metrics;
  clock?: Pick<Clock, 'monotonicMs'>;
}

const off = 'Web search is off. The operator turns it on with SLUICE_SEARCH_PROVIDERS.';

/** Asks the first provider that works. Without a provider, nothing leaves the platform. */
export class ProviderSearch extends WebSearch {
  private readonly providers: { provider: SearchProvider; breaker: CircuitBreaker }[];
  private readonly observer: SearchObserver | null;
  private readonly clock: Pick<Clock, 'monotonicMs'>;

  constructor(private readonly options: ProviderSearchOptions) {
    super();
    this.clock = options.clock ?? systemClock;
    this.providers = options.providers.map((provider) => ({ provider, breaker: new CircuitBreaker(this.clock) }));
    const openBreakers = () => new Map(this.providers.map(({ provider: { name }, breaker }) => [name, breaker.isOpen]));
    this.observer = options.metrics === undefined ? null : searchMetrics(options.metrics, openBreakers);
  }

  override get isConfigured(): boolean {
    return this.providers.length > 0;
  }

  override hasProvider(name: string): boolean {
    return this.providers.some(({ provider }) => provider.name === name);
  }

  override async search(query: SearchQuery, signal: AbortSignal): Promise<SearchResponse> {
    if (!this.isConfigured) throw new WebFault('not-configured', off);
    const { cache } = this.options;
    const cached = await cache?.find(query);
    if (cache && query.scope !== undefined) this.observer?.lookedUp(cached ? 'hit' : 'miss');
    if (cached) return cached;
    const response = await this.ask(query, signal);
    if (response.results.length > 0) await cache?.add(query, response);
    return response;
  }

  private async ask(query: SearchQuery, signal: AbortSignal): Promise<SearchResponse> {
    for (const { provider, breaker } of this.providers) {
      signal.throwIfAborted();
      if (query.provider !== undefined && query.provider !== provider.name) continue;
      if (!breaker.tryPass()) continue;
      const startedAtMs = this.clock.monotonicMs();
      const seconds = () => (this.clock.monotonicMs() - startedAtMs) / 1_000;
      try {
        const results = await provider.search(query, signal);
        breaker.succeeded();
        this.observer?.asked(provider.name, 'succeeded', seconds());
        return { provider: provider.name, results: results.filter(({ url }) => isOnSites(url, query)) };
      } catch (error) {
        // The caller's end says nothing about the provider.
        signal.throwIfAborted();
        breaker.failed();
        this.observer?.asked(provider.name, 'failed', seconds());
        const reason = error instanceof ProviderFault ? error.message : 'It failed.';
        this.options.logger.warn({ provider: provider.name, reason }, 'a search provider failed');
      }
    }
    throw new WebFault('unavailable', 'Web search is not available at the moment.');
  }
}
