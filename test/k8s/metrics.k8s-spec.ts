import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Metrics } from '#platform/metrics';
import { metricsIn, namedMetrics } from './named-metrics.js';
import { root } from './render-overlay.js';

/** Metric names quoted in production sources, and those of the runtime. */
async function declaredMetrics(): Promise<Set<string>> {
  const files = ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/spec\.ts$|(^|\/)generated\//.test(file))
      .map((file) => join(root, folder, file)),
  );
  const own = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/'((?:sluice|gen_ai)_[a-z0-9_]+)'/g)]);
  const runtime = [...(await new Metrics('api').render()).matchAll(/^# TYPE (\S+) /gm)];
  return new Set([...own, ...runtime].map(([, name]) => name ?? ''));
}

/** Queried metrics that nothing declares; the end-to-end suite queries the running processes for the same. */
async function undeclared(named: Iterable<string>): Promise<string[]> {
  const declared = await declaredMetrics();
  return [...named].filter((name) => !declared.has(name));
}

describe('metrics that scalers, alerts and dashboards query', () => {
  it('are declared by the product', async () => {
    expect(await undeclared(namedMetrics().keys())).toEqual([]);
  });

  it('are found in every kind of query: the queue for the workers, requests in flight for the API', () => {
    expect([...namedMetrics().keys()]).toEqual(
      expect.arrayContaining([
        'sluice_http_requests_in_flight',
        'sluice_model_last_unserved_request_timestamp_seconds',
        'sluice_queue_jobs',
      ]),
    );
  });

  it('are reported when nothing declares them', async () => {
    const query = 'sum(rate(sluice_queue_jobz[5m])) / sum(nodejs_eventloop_lag_p99_seconds)';
    expect(await undeclared(metricsIn(query))).toEqual(['sluice_queue_jobz']);
  });
});
