import type { Metrics } from '#platform/metrics';

/** What happens to searches, for the operator. No query is among it. */
export interface SearchObserver {
  asked(provider: string, result: 'succeeded' | 'failed', seconds: number): void;
  lookedUp(result: 'hit' | 'miss'): void;
}

const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The metrics of searches. `openBreakers` returns whether each provider is left alone at present. */
export function searchMetrics(metrics: Metrics, openBreakers: () => ReadonlyMap<string, boolean>): SearchObserver {
  const requests = metrics.counter('sluice_search_requests_total', 'Requests to search providers.', [
    'provider',
    'result',
  ]);
  const durations = metrics.histogram({
    name: 'sluice_search_request_duration_seconds',
    help: 'Time that a search provider takes, also where it fails.',
    labelNames: ['provider'],
    buckets,
  });
  const lookups = metrics.counter('sluice_search_cache_lookups_total', 'Searches that stored results might serve.', [
    'result',
  ]);
  metrics.observedGauge({
    name: 'sluice_search_breaker_open',
    help: '1 while a search provider is left alone after failures.',
    labelNames: ['provider'],
    read: (observe) => {
      for (const [provider, isOpen] of openBreakers()) observe({ provider }, Number(isOpen));
    },
  });
  return {
    asked: (provider, result, seconds) => {
      requests.inc({ provider, result });
      durations.observe({ provider }, seconds);
    },
    lookedUp: (result) => lookups.inc({ result }),
  };
}
