import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ArgumentsHost } from '@nestjs/common';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { type ErrorCode, PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import { freeBytes } from '#platform/memory';
import { Metrics } from '#platform/metrics';
import { testDouble } from '#test/test-double';
import { ErrorFilter } from './error.filter.js';
import { RouteTable } from './route-table.js';

const chatPath = '/api/v1/chat/completions';
/** The operator takes no payments. */
const noPayments = { answer: () => null };

function caught(
  exception: unknown,
  { readableAborted = false, url = chatPath, route = chatPath as string | null } = {},
  payments: { answer: () => null } = noPayments,
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
  new ErrorFilter(routes, testDouble(payments), logger as unknown as Logger, metrics).catch(exception, {
    switchToHttp: () => http,
  } as unknown as ArgumentsHost);
  const logged = [...logger.error.mock.calls, ...logger.warn.mock.calls];
  const [headers] = (reply.headers.mock.calls[0] ?? []) as [object?];
  return { logged, headers, status: reply.status.mock.calls[0]?.[0], body: reply.send.mock.calls[0]?.[0] };
}

describe('ErrorFilter', () => {
  it('logs unexpected errors with the request id that the client received', () => {
    const { logged, status } = caught(new Error('a bug'));
    expect([logged.length, status]).toEqual([1, 500]);
    expect(logged[0]?.[0]).toMatchObject({ requestId: 'f00d' });
  });

  it('says how to pay with every 402, and keeps the error of the route unless there is a body for wallets', () => {
    const poor = new PlatformError('INSUFFICIENT_BALANCE', 'No credit.');
    const headers = { 'payment-required': 'e30=' };
    const answered = (payments: { answer: () => object }, error: PlatformError) => caught(error, {}, payments as never);
    expect(answered({ answer: () => ({ headers }) }, poor)).toMatchObject({
      status: 402,
      headers: { ...headers, 'x-should-retry': 'false' },
      body: { error: { code: 'INSUFFICIENT_BALANCE' } },
    });
    expect(answered({ answer: () => ({ headers, body: { x402Version: 2 } }) }, poor).body).toEqual({ x402Version: 2 });
    const answer = vi.fn();
    expect(answered({ answer }, new PlatformError('UNAUTHORIZED', 'No.')).status).toBe(403);
    expect(answer).not.toHaveBeenCalled();
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

/** A server that refuses every request before its body. */
async function refusingServer(code: ErrorCode, prepare: (request: FastifyRequest, reply: FastifyReply) => void) {
  const server = fastify({ bodyLimit: 256 * 2 ** 20 });
  const filter = new ErrorFilter(
    new RouteTable(),
    testDouble(noPayments),
    testDouble({ error: vi.fn(), warn: vi.fn(), debug: vi.fn() }),
    new Metrics('api', { processMetrics: false }),
  );
  server.addHook('onRequest', (request, reply, done) => {
    prepare(request, reply);
    done(new PlatformError(code, 'No.'));
  });
  server.setErrorHandler((error, request, reply) => {
    const http = { getRequest: () => request, getResponse: () => reply };
    filter.catch.call(filter, error, { switchToHttp: () => http } as unknown as ArgumentsHost);
  });
  server.post('/', () => 'x');
  await server.listen({ port: 0, host: '127.0.0.1' });
  return server;
}

/** Sends the head of a request; `send` writes a megabyte of its body. */
async function beginUpload(server: FastifyInstance, megabytes: number, headers: Record<string, string>) {
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1').pause();
  await once(socket, 'connect');
  const lines = { host: 'a', 'content-length': megabytes * 2 ** 20, ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST / HTTP/1.1\r\n${head.join('')}\r\n`);
  const send = (): Promise<void> =>
    new Promise((resolve, reject) => {
      socket.write(Buffer.alloc(2 ** 20), (error) => (error ? reject(error) : resolve()));
    });
  return { socket, send };
}

describe('a client that sends its whole body before it reads', () => {
  const megabytes = 32;

  it.each([
    ['closes its connection', 'AUTHENTICATION_FAILED', { connection: 'close' }, null],
    ['meets a stopping process', 'SERVICE_UNAVAILABLE', {}, 'close'],
  ] as const)('gets an error from before the body if it %s', async (_case, code, headers, connection) => {
    const server = await refusingServer(code, (_request, reply) => {
      if (connection !== null) void reply.header('connection', connection);
    });
    const { socket, send } = await beginUpload(server, megabytes, headers);
    try {
      for (let sent = 0; sent < megabytes; sent += 1) await send();
      expect(await text(socket)).toContain(code);
    } finally {
      socket.destroy();
      await server.close();
    }
  });
});

it('is answered after a bounded part of a body, also where its parts are freed as they are discarded', async () => {
  const megabytes = 192;
  const code = 'PAYLOAD_TOO_LARGE';
  const server = await refusingServer(code, ({ raw }) => void raw.on('data', freeBytes));
  const { socket, send } = await beginUpload(server, megabytes, {});
  try {
    const answered = once(socket.resume(), 'data').then(([part]) => String(part));
    let isAnswered = false;
    void answered.then(() => (isAnswered = true));
    let sent = 0;
    for (; sent < megabytes && !isAnswered; sent += 1) await send();
    expect(await answered).toContain(code);
    expect(sent).toBeLessThan(megabytes);
  } finally {
    socket.destroy();
    await server.close();
  }
});
