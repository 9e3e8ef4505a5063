import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { PassThrough } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { RequestCaller } from '#platform/http';
import { BodyBudget } from './body-budget.js';
import { BodyReader } from './body-reader.js';
import { addJsonParser } from './json.parser.js';

const kilobyte = 1024;
const limits = { processBytes: 400 * kilobyte, addressBytes: 300 * kilobyte, keyBytes: 200 * kilobyte };

let server: FastifyInstance;
let budget: BodyBudget;
let open: ClientRequest[];

async function serve(rate = { windowBytes: kilobyte, windowMs: 60_000 }): Promise<void> {
  budget = new BodyBudget(limits);
  const bodies = new BodyReader(budget, rate);
  server = fastify({ bodyLimit: 250 * kilobyte, trustProxy: true });
  server.decorateRequest('caller', null);
  server.addHook('onRequest', async (request) => {
    const { key } = request.headers;
    request.caller = typeof key === 'string' ? ({ apiKeyId: key } as RequestCaller) : null;
  });
  bodies.attach(server);
  addJsonParser(server, bodies);
  server.setErrorHandler((error, _request, reply) => {
    const { code, message } = PlatformError.from(error);
    return reply.status(code === 'PAYLOAD_TOO_LARGE' ? 413 : 400).send({ code, message });
  });
  server.post('/small', { bodyLimit: 10 * kilobyte }, async () => ({ read: true }));
  server.post('/body', async () => ({ read: true }));
  await server.listen({ port: 0, host: '127.0.0.1' });
}

beforeEach(() => {
  open = [];
});

afterEach(async () => {
  for (const request of open) request.destroy();
  await server.close();
});

interface SentBody {
  path?: string;
  from?: string;
  key?: string;
  /** Announced; default: chunked. */
  length?: number;
  /** Sent at once. */
  text: string;
  /** False: the body does not end. */
  ends?: boolean;
}

/** Sends a body and resolves to its response, if it ends or is refused. */
function send({ path = '/body', from, key, length, text, ends = true }: SentBody): Promise<{ code?: string }> {
  const { port } = server.server.address() as { port: number };
  const headers = {
    'content-type': 'application/json',
    ...(from !== undefined && { 'x-forwarded-for': from }),
    ...(key !== undefined && { key }),
    ...(length !== undefined && { 'content-length': length }),
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path, headers }, (response) => {
      let body = '';
      response.on('data', (part: Buffer) => (body += part.toString()));
      response.on('end', () => resolve(JSON.parse(body) as { code?: string }));
    });
    open.push(request);
    request.on('error', reject);
    request.write(text);
    if (ends) request.end();
  });
}

const textOf = (kilobytes: number): string => JSON.stringify('x'.repeat(kilobytes * kilobyte));

/** Holds a body that never ends. */
async function hold(body: Omit<SentBody, 'text'>, kilobytes: number): Promise<void> {
  const before = budget.usedBytes;
  send({ ...body, text: textOf(kilobytes), ends: false }).catch(() => undefined);
  await expect.poll(() => budget.usedBytes).toBeGreaterThan(before + kilobytes * kilobyte - 1);
}

describe('bodies in memory', () => {
  beforeEach(() => serve());

  it('are limited for each key, wherever it calls from', async () => {
    await hold({ key: 'a', from: '203.0.113.1' }, 150);
    const refused = await send({ key: 'a', from: '203.0.113.2', text: textOf(100) });
    expect(refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', message: expect.stringContaining('API key') });
    expect(await send({ key: 'b', from: '203.0.113.2', text: textOf(100) })).toEqual({ read: true });
  });

  it('are limited for each address, whatever keys it uses', async () => {
    await hold({ key: 'a', from: '203.0.113.1' }, 150);
    await hold({ key: 'b', from: '203.0.113.1' }, 140);
    const refused = await send({ key: 'c', from: '203.0.113.1', text: textOf(50) });
    expect(refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', message: expect.stringContaining('address') });
    expect(await send({ key: 'c', from: '203.0.113.2', text: textOf(50) })).toEqual({ read: true });
  });

  it('are limited in total', async () => {
    for (const name of ['1', '2', '3']) await hold({ key: name, from: `203.0.113.${name}` }, 120);
    const refused = await send({ key: '4', from: '203.0.113.4', text: textOf(100) });
    expect(refused).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('are refused by their announced length, before anything is sent', async () => {
    await hold({ key: 'a' }, 150);
    const refused = await send({ key: 'a', length: 100 * kilobyte, text: '"', ends: false });
    expect(refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect(await send({ path: '/small', length: 11 * kilobyte, text: '"', ends: false })).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: 'The body is larger than 10 kB.',
    });
  });

  it('without an announced length are cut at the limit of their route', async () => {
    expect(await send({ path: '/small', text: textOf(11), ends: false })).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await send({ path: '/small', text: textOf(9) })).toEqual({ read: true });
  });

  it('are given back when the response is sent or the client disconnects', async () => {
    expect(await send({ key: 'a', text: textOf(150) })).toEqual({ read: true });
    await expect.poll(() => budget.usedBytes).toBe(0);
    await hold({ key: 'a' }, 150);
    for (const request of open) request.destroy();
    await expect.poll(() => budget.usedBytes).toBe(0);
  });
});

describe('the rate of a body', () => {
  it('ends bodies that arrive too slowly', async () => {
    await serve({ windowBytes: 100 * kilobyte, windowMs: 50 });
    expect(await send({ text: textOf(1), ends: false })).toEqual({
      code: 'INVALID_REQUEST',
      message: 'The body arrived more slowly than 2000 kB/s.',
    });
    await expect.poll(() => budget.usedBytes).toBe(0);
  });

  it('leaves those alone that are fast enough', async () => {
    await serve({ windowBytes: 1, windowMs: 500 });
    const { port } = server.server.address() as { port: number };
    const status = new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const options = { port, host: '127.0.0.1', method: 'POST', path: '/body', headers };
      const request = httpRequest(options, ({ statusCode }) => resolve(statusCode));
      open.push(request);
      request.on('error', reject);
      request.write('"');
      let sent = 0;
      const timer = setInterval(() => {
        if (sent++ < 40) return void request.write('x');
        clearInterval(timer);
        request.end('"');
      }, 30);
    });
    expect(await status).toBe(200);
  });
});

describe('the parts of a body', () => {
  it.each([
    ['read', 100 * kilobyte],
    ['discarded', 5 * kilobyte],
  ])('are %s one in each turn of the event loop', async (_what, keyBytes) => {
    const payload = new PassThrough({ highWaterMark: 100 * kilobyte });
    for (let part = 0; part < 20; part += 1) payload.write(Buffer.alloc(kilobyte));
    payload.end();
    let inTurn = 0;
    const turns: number[] = [];
    const nextTurn = (): void => {
      if (inTurn > 0) turns.push(inTurn);
      inTurn = 0;
      if (!payload.readableEnded) setImmediate(nextTurn);
    };
    setImmediate(nextTurn);
    const reader = new BodyReader(new BodyBudget({ ...limits, keyBytes }));
    const request = { headers: {}, caller: { apiKeyId: 'key' }, ip: '127.0.0.1' } as unknown as FastifyRequest;
    const read = reader.read(request, payload as unknown as IncomingMessage, 100 * kilobyte).catch(() => null);
    payload.on('data', () => (inTurn += 1));
    await once(payload, 'end');
    await read;
    expect(Math.max(...turns)).toBeLessThanOrEqual(2);
    expect(turns.length).toBeGreaterThanOrEqual(10);
  });
});
