import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ArgumentsHost } from '@nestjs/common';
import { fastify } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { ErrorFilter } from './error.filter.js';
import { RouteTable } from './route-table.js';

const chatPath = '/api/v1/chat/completions';

function caught(
  exception: unknown,
  { readableAborted = false, url = chatPath, route = chatPath as string | null } = {},
) {
  const routeOptions = route === null ? {} : { url: route };
  const request = { id: 'f00d', url, is404: route === null, routeOptions, raw: { readableAborted, complete: true } };
  const reply = { raw: { headersSent: false }, header: vi.fn(), status: vi.fn(), headers: vi.fn(), send: vi.fn() };
  reply.status.mockReturnValue(reply);
  const http = { getRequest: () => request, getResponse: () => reply };
  const logger = { error: vi.fn(), warn: vi.fn(), debug: vi.fn() };
  const routes = new RouteTable();
  const server = fastify();
  routes.attach(server);
  server.post(chatPath, () => 'x');
  const metrics = new Metrics('api', { processMetrics: false });
  new ErrorFilter(routes, logger as unknown as Logger, metrics).catch(exception, {
    switchToHttp: () => http,
  } as unknown as ArgumentsHost);
  const logged = [...logger.error.mock.calls, ...logger.warn.mock.calls];
  return { logged, status: reply.status.mock.calls[0]?.[0], body: reply.send.mock.calls[0]?.[0] };
}

describe('ErrorFilter', () => {
  it('logs unexpected errors with the request id that the client received', () => {
    const { logged, status } = caught(new Error('a bug'));
    expect([logged.length, status]).toEqual([1, 500]);
    expect(logged[0]?.[0]).toMatchObject({ requestId: 'f00d' });
  });

  it('logs no failure when a client disconnects while sending a body', () => {
    const { logged, status } = caught(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }), {
      readableAborted: true,
    });
    expect([logged, status]).toEqual([[], 400]);
  });

  it.each([
    ['MODEL_AT_CAPACITY', 503, 1],
    ['INVALID_REQUEST', 400, 0],
  ] as const)(
    'warns of the cause of %s with status %i only where the service is at fault',
    (code, status, warnings) => {
      const result = caught(new PlatformError(code, 'No.', null, { cause: new Error('why') }));
      expect([result.status, result.logged.length]).toEqual([status, warnings]);
    },
  );

  it.each([
    ['/%61pi/v1/chat/completions', chatPath, true],
    ['http://host/api/v1/chat/completions', chatPath, true],
    ['/api/v1/models/%2e', '/api/v1/models/:id', true],
    ['/%61pi/v1/billing/balance', '/api/v1/billing/balance', false],
    ['/api/v1/models/no/such', null, true],
    ['/api/v1/fine_tuning/jobs', null, true],
    ['/api/v1/files', null, true],
    ['/api/v1/images/nothing?x=1', null, true],
    ['/api/v1/audio/nothing', null, true],
    ['/api/v1/audio/voices', '/api/v1/audio/voices', false],
    ['/api/v1/billing/nothing', null, false],
    ['/nothing', null, false],
  ])('responds to %s in the envelope of the matched route', (url, route, isOpenai) => {
    const { body } = caught(new PlatformError('INVALID_REQUEST', 'No.'), { url, route });
    expect(body).toMatchObject(isOpenai ? { error: { code: 'INVALID_REQUEST' } } : { code: 'INVALID_REQUEST' });
  });

  it('distinguishes a wrong method from a wrong path, also before the body is read', () => {
    const nothing = new PlatformError('NOT_FOUND', 'There is nothing at this address.');
    expect(caught(nothing, { url: chatPath, route: null }).status).toBe(405);
    expect(caught(nothing, { url: '/nowhere', route: null }).status).toBe(404);
    expect(caught(nothing, { url: chatPath, route: chatPath }).status).toBe(404);
  });
});

describe('a client that sends its whole body before it reads', () => {
  const megabytes = 32;

  it.each([
    ['closes its connection', 'AUTHENTICATION_FAILED', { connection: 'close' }, null],
    ['meets a stopping process', 'SERVICE_UNAVAILABLE', {}, 'close'],
  ] as const)('gets an error from before the body if it %s', async (_case, code, headers, connection) => {
    const server = fastify({ bodyLimit: 64 * 2 ** 20 });
    const filter = new ErrorFilter(
      new RouteTable(),
      { error: vi.fn(), warn: vi.fn(), debug: vi.fn() },
      new Metrics('api', { processMetrics: false }),
    );
    server.addHook('onRequest', (_request, reply, done) => {
      if (connection !== null) void reply.header('connection', connection);
      done(new PlatformError(code, 'No.'));
    });
    server.setErrorHandler((error, request, reply) => {
      const http = { getRequest: () => request, getResponse: () => reply };
      filter.catch.call(filter, error, { switchToHttp: () => http } as unknown as ArgumentsHost);
    });
    server.post('/', () => 'x');
    await server.listen({ port: 0, host: '127.0.0.1' });
    const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1').pause();
    try {
      await once(socket, 'connect');
      const lines = { host: 'a', 'content-length': megabytes * 2 ** 20, ...headers };
      const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST / HTTP/1.1\r\n${head.join('')}\r\n`);
      for (let sent = 0; sent < megabytes; sent += 1) {
        await new Promise<void>((resolve, reject) => {
          socket.write(Buffer.alloc(2 ** 20), (error) => (error ? reject(error) : resolve()));
        });
      }
      expect(await text(socket)).toContain(code);
    } finally {
      socket.destroy();
      await server.close();
    }
  });
});
