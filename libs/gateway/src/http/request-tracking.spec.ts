import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Metrics } from '#platform/metrics';
import { noTracing } from '#platform/tracing';
import { Drain } from '../pipeline/drain.js';
import { AccessLog } from '../access-log/access-log.js';
import { addRequestTracking } from './request-tracking.js';
import { StoreBudgets } from '../request/store-budgets.js';

let server: FastifyInstance;
let drain: Drain;
let observed: { route: string; status: number }[];
let onObserved: () => void;
let inFlight: number;

beforeEach(async () => {
  drain = new Drain();
  observed = [];
  inFlight = 0;
  onObserved = () => undefined;
  const observeHttpRequest = ({ route, status }: { route: string; status: number }): void => {
    observed.push({ route, status });
    onObserved();
  };
  server = fastify();
  addRequestTracking(server, {
    drain,
    budgets: new StoreBudgets({ storeTimeoutMs: 1_000 }),
    metrics: {
      observeHttpRequest,
      httpRequestStarted: () => (inFlight += 1),
      httpRequestEnded: () => (inFlight -= 1),
      histogram: () => ({ observe: () => undefined }),
    } as unknown as Metrics,
    tracing: noTracing,
    accessLog: new AccessLog({ info: () => undefined }, { isOn: false, meter: () => [] }),
  });
  server.get('/quick', () => 'done');
  server.get('/metrics', () => String(inFlight));
  server.get('/endless', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200).write('x');
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

function get(path: string): Promise<Response> {
  const { port } = server.server.address() as { port: number };
  return fetch(`http://127.0.0.1:${port}${path}`);
}

describe('requests in flight', () => {
  it('end when the response is sent or the client disconnects', async () => {
    await (await get('/quick')).text();
    expect(await (await get('/metrics')).text()).toBe('0');
    const response = await get('/endless');
    expect(inFlight).toBe(1);
    const observation = new Promise<void>((resolve) => (onObserved = resolve));
    await response.body?.cancel();
    await observation;
    expect(inFlight).toBe(0);
    expect(observed).toEqual([
      { route: '/quick', status: 200 },
      { route: '/metrics', status: 200 },
      { route: '/endless', status: 499 },
    ]);
    // No request is left, so a grace period of an hour ends at once.
    await drain.drain(3_600_000);
    expect(drain.draining).toBe(true);
  });
});
