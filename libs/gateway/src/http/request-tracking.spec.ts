import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawConnection } from '#test/raw-http';
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
let stream: ServerResponse;

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
  server.get('/stream', (_request, reply) => {
    reply.hijack();
    stream = reply.raw.writeHead(200);
    stream.write('first');
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

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
    await drain.drain(3_600_000, { noticeMs: 0 });
    expect(drain.draining).toBe(true);
  });
});

describe('a server that is told to stop', () => {
  const connected = () => RawConnection.open((server.server.address() as AddressInfo).port);
  const anHour = 3_600_000;

  it('serves the next request of each connection, and closes the connection with the response', async () => {
    const connections = await Promise.all([connected(), connected(), connected()]);
    const [first] = connections;
    first?.send(request('/quick'));
    expect(await first?.until(/done$/)).toContain('Connection: keep-alive');
    const stopped = drain.drain(anHour, { noticeMs: anHour });
    for (const connection of connections) {
      connection.send(request('/quick'));
      const received = await connection.untilClosed();
      expect(received).toMatch(/^Connection: close\r$/im);
      expect(received).toMatch(/done$/);
    }
    await stopped;
    expect(observed.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(server.server.listening).toBe(false);
  });

  it('rejects the request that follows a stream from before, on its connection', async () => {
    const connection = await connected();
    connection.send(request('/stream'));
    await connection.until(/first/);
    const stopped = drain.drain(anHour, { noticeMs: 0, finalNoticeMs: anHour });
    await expect.poll(() => drain.draining).toBe(true);
    stream.end('last');
    await connection.until(/last\r\n0\r\n\r\n$/);
    await expect.poll(() => server.server.listening).toBe(false);
    connection.send(request('/quick'));
    expect(await connection.untilClosed()).toMatch(/connection: close\r[^]*The service is restarting/);
    await stopped;
  });

  it('does not wait for connections that nobody uses', async () => {
    const connection = await connected();
    await drain.drain(anHour, { noticeMs: 1 });
    connection.leave();
    expect(drain.draining).toBe(true);
  });
});
