import { describe, expect, it } from 'vitest';
import { Metrics } from './metrics.js';
import { registerQueueGauges } from './standard-gauges.js';

describe('Metrics', () => {
  it('counts requests by method, route and status in seconds', async () => {
    const metrics = new Metrics('api', { processMetrics: false });
    metrics.observeHttpRequest({ method: 'GET', route: '/models', status: 200, seconds: 0.02 });
    const text = await metrics.render();
    expect(text).toContain(
      'sluice_http_request_duration_seconds_bucket{le="0.025",app="api",method="GET",route="/models",status="200"} 1',
    );
    expect(text).toContain(
      'sluice_http_request_duration_seconds_bucket{le="0.01",app="api",method="GET",route="/models",status="200"} 0',
    );
  });

  it('drops the labels that a later reading no longer has', async () => {
    const metrics = new Metrics('ops', { processMetrics: false });
    let readings = [{ modality: 'chat', modelId: 'a', waiting: 3, active: 1 }];
    registerQueueGauges(metrics, () => Promise.resolve(readings));
    expect(await metrics.render()).toContain(
      'sluice_queue_jobs{modality="chat",model="a",state="waiting",app="ops"} 3',
    );
    readings = [];
    expect(await metrics.render()).not.toContain('model="a"');
  });

  it('answers a scrape although the store behind a gauge is away, and counts it', async () => {
    const metrics = new Metrics('ops', { processMetrics: false });
    registerQueueGauges(metrics, () => Promise.reject(new Error('away')));
    await metrics.render();
    expect(await metrics.render()).toMatch(
      /sluice_metrics_read_failures_total\{metric="sluice_queue_jobs",app="ops"\} [12]/,
    );
  });
});
