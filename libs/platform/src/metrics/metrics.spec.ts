import { afterEach, describe, expect, it, vi } from 'vitest';
import { Histogram } from '#common';
import { Metrics } from './metrics.js';
import { registerQueueGauges } from './standard-gauges.js';

describe('Metrics', () => {
  afterEach(() => void vi.useRealTimers());

  it('observes requests by method, route and status in seconds', async () => {
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

  it('names its installation on every series', async () => {
    const metrics = new Metrics('api', { processMetrics: false, installation: 'staging' });
    metrics.observeHttpRequest({ method: 'GET', route: '/models', status: 200, seconds: 0.02 });
    const samples = (await metrics.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(samples.length).toBeGreaterThan(3);
    for (const sample of samples) expect(sample).toMatch(/[{,]app="api",installation="staging"/);
  });

  it('drops label sets that a later reading no longer reports', async () => {
    const metrics = new Metrics('ops', { processMetrics: false });
    const counts = { waiting: 3, active: 1, delayed: 0 };
    let readings = [{ modality: 'chat', modelId: 'a', counts }];
    registerQueueGauges(metrics, () => Promise.resolve(readings));
    expect(await metrics.render()).toContain(
      'sluice_queue_jobs{modality="chat",model="a",state="waiting",app="ops"} 3',
    );
    expect(await metrics.render()).toContain('sluice_queue_jobs{modality="chat",model="a",state="active",app="ops"} 1');
    readings = [];
    expect(await metrics.render()).not.toContain('model="a"');
  });

  it('exports external totals and histograms with their own types', async () => {
    const metrics = new Metrics('worker', { processMetrics: false });
    const histogram = new Histogram([0.1, 1]);
    for (const seconds of [0.05, 0.5, 5]) histogram.add(seconds);
    metrics.observedHistogram({
      name: 'sluice_step_seconds',
      help: 'Steps.',
      labelNames: ['model'],
      read: (observe) => observe({ model: 'a' }, histogram),
    });
    metrics.observedCounter({
      name: 'sluice_steps_total',
      help: 'Steps.',
      labelNames: ['model'],
      read: (observe) => observe({ model: 'a' }, 3),
    });
    const text = await metrics.render();
    expect(text).toContain('# TYPE sluice_step_seconds histogram');
    expect(text).toContain('sluice_step_seconds_bucket{le="0.1",model="a",app="worker"} 1');
    expect(text).toContain('sluice_step_seconds_bucket{le="1",model="a",app="worker"} 2');
    expect(text).toContain('sluice_step_seconds_bucket{le="+Inf",model="a",app="worker"} 3');
    expect(text).toContain('sluice_step_seconds_sum{model="a",app="worker"} 5.55');
    expect(text).toContain('sluice_step_seconds_count{model="a",app="worker"} 3');
    expect(text).toContain('# TYPE sluice_steps_total counter');
    // A second scrape reports the same total, not twice that.
    expect(await metrics.render()).toContain('sluice_steps_total{model="a",app="worker"} 3');
  });

  it('counts requests in flight', async () => {
    const metrics = new Metrics('api', { processMetrics: false });
    metrics.httpRequestStarted();
    metrics.httpRequestStarted();
    metrics.httpRequestEnded();
    expect(await metrics.render()).toContain('sluice_http_requests_in_flight{app="api"} 1');
  });

  it('completes a scrape and counts the failure when the store behind a gauge is unavailable', async () => {
    const metrics = new Metrics('ops', { processMetrics: false });
    registerQueueGauges(metrics, () => Promise.reject(new Error('away')));
    await metrics.render();
    expect(await metrics.render()).toMatch(
      /sluice_metrics_read_failures_total\{metric="sluice_queue_jobs",app="ops"\} [12]/,
    );
  });

  it('completes a scrape when the store behind a gauge hangs, and ignores its late value', async () => {
    vi.useFakeTimers();
    const metrics = new Metrics('ops', { processMetrics: false });
    const answers: (() => void)[] = [];
    metrics.observedGauge({
      name: 'sluice_sticky_jobs',
      help: 'Kept.',
      labelNames: ['of'],
      read: async (observe) => {
        const of = `scrape-${answers.length}`;
        await new Promise<void>((resolve) => answers.push(resolve));
        observe({ of }, 1);
      },
    });
    const first = metrics.render();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await first).not.toContain('scrape-0');
    const second = metrics.render();
    await vi.advanceTimersByTimeAsync(0);
    for (const answer of answers) answer();
    const text = await second;
    expect(text).toContain('sluice_sticky_jobs{of="scrape-1",app="ops"} 1');
    expect(text).not.toContain('scrape-0');
    expect(text).toContain('sluice_metrics_read_failures_total{metric="sluice_sticky_jobs",app="ops"} 1');
  });
});
