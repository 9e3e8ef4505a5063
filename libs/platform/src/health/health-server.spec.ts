import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { Metrics } from '#platform/metrics';
import { type HealthServer, startHealthServer } from './health-server.js';
import { Readiness } from './readiness.js';
import { registerReadinessGauges } from './readiness-gauges.js';

describe('startHealthServer', () => {
  let server: HealthServer;
  let databaseIsUp: boolean;
  let queueIsFull: boolean;
  let alive: boolean;
  let readiness: Readiness;

  beforeEach(async () => {
    databaseIsUp = true;
    queueIsFull = false;
    readiness = new Readiness([
      { name: 'database', check: () => (databaseIsUp ? Promise.resolve() : Promise.reject(new Error('host db1'))) },
      {
        name: 'queue',
        check: async () => {
          if (queueIsFull) throw new PlatformError('SERVICE_UNAVAILABLE', 'The queue is full.');
        },
      },
    ]);
    const metrics = new Metrics('ops', { processMetrics: false });
    registerReadinessGauges(metrics, readiness);
    alive = true;
    server = await startHealthServer({ host: '127.0.0.1', port: 0, readiness, metrics, isAlive: () => alive });
  });

  afterEach(() => server.close());

  const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method });

  it('is ready while every check passes', async () => {
    const response = await get('/health/ready');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok', checks: { database: 'ok', queue: 'ok' } });
  });

  it('names the failing check without its reason, and stays live', async () => {
    databaseIsUp = false;
    const response = await get('/health/ready');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: 'unavailable', checks: { database: 'unavailable', queue: 'ok' } });
    expect((await get('/health/live')).status).toBe(200);
  });

  it('includes the reason of a PlatformError', async () => {
    queueIsFull = true;
    const body = (await (await get('/health/ready')).json()) as { reasons: Record<string, string> };
    expect(body).toMatchObject({ status: 'unavailable', checks: { queue: 'unavailable' } });
    expect(body.reasons).toEqual({ queue: 'The queue is full.' });
  });

  it('fails liveness when only a restart helps', async () => {
    alive = false;
    const response = await get('/health/live');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: 'restart' });
  });

  it('is not ready while it drains', async () => {
    readiness.drain();
    expect((await get('/health/ready')).status).toBe(503);
  });

  it('exports readiness as metrics', async () => {
    databaseIsUp = false;
    const text = await (await get('/metrics')).text();
    expect(text).toContain('sluice_ready{app="ops"} 0');
    expect(text).toContain('sluice_dependency_up{dependency="database",app="ops"} 0');
    expect(text).toContain('sluice_dependency_up{dependency="queue",app="ops"} 1');
  });

  it('reports dependencies apart: all of them must respond', async () => {
    expect((await get('/health/dependencies')).status).toBe(200);
    queueIsFull = true;
    const response = await get('/health/dependencies');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      status: 'unavailable',
      checks: { database: 'ok', queue: 'unavailable' },
      reasons: { queue: 'The queue is full.' },
    });
  });

  it('serves metrics as Prometheus text and nothing else', async () => {
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).toContain('sluice_http_request_duration_seconds');
    expect((await get('/')).status).toBe(404);
    expect((await get('/metrics', 'POST')).status).toBe(405);
  });
});
