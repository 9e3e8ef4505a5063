import { Module } from '@nestjs/common';
import { DocumentExtractor } from '#documents';
import { Egress } from '#egress';
import { EgressModule } from '#egress/nest';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { HttpPageReader } from '../pages/http-page-reader.js';
import { PageReader } from '../pages/page-reader.js';
import { Robots } from '../pages/robots.js';
import { createProviders } from '../search/create-providers.js';
import { ProviderSearch } from '../search/provider-search.js';
import { SearchCache } from '../search/search-cache.js';
import { SearchCacheRepository } from '../search/search-cache.repository.js';
import { WebSearch } from '../search/web-search.js';

/** Pages take about a second each. An account has both extractors only while no other waits. */
const pageSlots = { slotsPerOwner: 2, maxWaiting: 64, maxWaitingPerOwner: 16, maxWaitMs: 20_000 };
/** Far more than large pages of real sites take. */
const pageLimits = { maxCpuSeconds: 10 };

/** Search of the web, and its pages. */
@Module({
  imports: [EgressModule],
  providers: [
    SearchCacheRepository,
    { provide: WebSearch, inject: [ApiConfig, SearchCacheRepository, Logger, Metrics], useFactory: searchOf },
    { provide: PageReader, inject: [ApiConfig, Egress], useFactory: readerOf },
  ],
  exports: [WebSearch, PageReader],
})
export class WebModule {}

function readerOf({ pageRobots }: ApiConfig, egress: Egress): PageReader {
  const extractor = new DocumentExtractor({ slots: pageSlots, process: pageLimits });
  return new HttpPageReader({ egress, extractor, robots: pageRobots ? new Robots(egress) : null });
}

function searchOf(
  { search, secretKeys }: ApiConfig,
  repository: SearchCacheRepository,
  logger: Logger,
  metrics: Metrics,
): WebSearch {
  const { cacheMs: lifetimeMs } = search;
  const cache = lifetimeMs > 0 ? new SearchCache({ repository, secretKeys, lifetimeMs, logger }) : null;
  return new ProviderSearch({ providers: createProviders(search), logger, cache, metrics });
}
