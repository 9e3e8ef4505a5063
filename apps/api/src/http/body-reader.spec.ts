import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { PassThrough } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import type { RequestCaller } from '#platform/http';
import { BodyBudget } from './body-budget.js';
import { BodyPacer } from './body-pacer.js';
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

describe('the memory of parts', () => {
  const request = { headers: {}, caller: { apiKeyId: 'key' }, ip: '127.0.0.1' };

  async function readParts(headers: object, keyBytes: number): Promise<{ parts: Buffer[]; body: Buffer | null }> {
    const reader = new BodyReader(new BodyBudget({ ...limits, keyBytes }));
    const parts = Array.from({ length: 10 }, () => Buffer.from(new ArrayBuffer(16 * kilobyte)).fill('x'));
    const payload = new PassThrough();
    const asked = { ...request, headers } as unknown as FastifyRequest;
    const read = reader.read(asked, payload as unknown as IncomingMessage, 1_000 * kilobyte).catch(() => null);
    for (const part of parts) payload.write(part);
    payload.end();
    const [body] = await Promise.all([read, once(payload, 'end')]);
    return { parts, body };
  }

  it.each([
    ['of a known length', { 'content-length': String(160 * kilobyte) }],
    ['of an unknown length', {}],
  ])('is free as soon as a body %s is complete', async (_which, headers) => {
    const { parts, body } = await readParts(headers, 200 * kilobyte);
    expect(body?.toString()).toBe('x'.repeat(160 * kilobyte));
    expect(parts.map(({ length }) => length)).toEqual(parts.map(() => 0));
  });

  it('is free as soon as a body is refused, also of what arrives afterwards', async () => {
    const { parts, body } = await readParts({}, 50 * kilobyte);
    expect(body).toBeNull();
    expect(parts.map(({ length }) => length)).toEqual(parts.map(() => 0));
  });
});

describe('the parts of several bodies', () => {
  afterEach(() => void vi.useRealTimers());

  const partBytes = 64 * kilobyte;
  const flood = (count: number): PassThrough[] =>
    Array.from({ length: count }, () => {
      const payload = new PassThrough({ highWaterMark: 20 * partBytes });
      for (let part = 0; part < 10; part += 1) payload.write(Buffer.alloc(partBytes));
      return payload;
    });

  it('are read one in each turn of the event loop, of all bodies together', async () => {
    const pacer = new BodyPacer();
    let parts = 0;
    for (const [index, payload] of flood(8).entries()) {
      payload.on('data', (part: Buffer) => {
        parts += 1;
        pacer.pause(payload, part, `caller ${index}`);
      });
    }
    const turns: number[] = [];
    while (parts < 80) {
      const before = parts;
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(parts - before);
    }
    // The first parts come with the requests themselves.
    expect(turns[0]).toBe(8);
    expect(Math.max(...turns.slice(1))).toBeLessThanOrEqual(2);
  });

  it('are read at a limited speed, of all bodies of one caller together', async () => {
    let nowMs = 0;
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const pacer = new BodyPacer({ nowMs: () => nowMs, monotonicMs: () => nowMs });
    const read = new Map<string, number>();
    const open = (callerId: string, count: number): void => {
      for (const payload of flood(count)) {
        payload.on('data', (part: Buffer) => {
          read.set(callerId, (read.get(callerId) ?? 0) + 1);
          pacer.pause(payload, part, callerId);
        });
      }
    };
    const pass = async (ms: number): Promise<void> => {
      nowMs += ms;
      await vi.advanceTimersByTimeAsync(ms);
      for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    // 20 MB, of which 8 come at once.
    open('fast', 32);
    open('other', 1);
    await pass(0);
    expect(read.get('fast')).toBeGreaterThanOrEqual(128);
    expect(read.get('fast')).toBeLessThanOrEqual(128 + 32);
    expect(read.get('other')).toBe(10);
    const before = read.get('fast') ?? 0;
    await pass(50);
    // One part of each body may have been on its way.
    expect((read.get('fast') ?? 0) - before).toBeLessThanOrEqual(50 + 32);
    for (let step = 0; step < 10; step += 1) await pass(50);
    expect(read.get('fast')).toBe(320);
  });

  it('are discarded by the clock, of all refused bodies together', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const pacer = new BodyPacer();
    const payloads = flood(8);
    for (const payload of payloads) pacer.discard(payload);
    const leftBytes = (): number => payloads.reduce((sum, { readableLength }) => sum + readableLength, 0);
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    await settle();
    const before = leftBytes();
    expect(before).toBeGreaterThanOrEqual(8 * 8 * partBytes);
    await vi.advanceTimersByTimeAsync(2);
    await settle();
    expect(before - leftBytes()).toBeLessThanOrEqual(2 * partBytes);
    await vi.advanceTimersByTimeAsync(200);
    await settle();
    expect(leftBytes()).toBe(0);
  });

  it('are discarded by the clock of requests that are refused before their body is read', async () => {
    const discard = vi.spyOn(BodyPacer.prototype, 'discard');
    await serve();
    expect(await send({ path: '/unknown', text: textOf(1), ends: false })).toMatchObject({ code: 'NOT_FOUND' });
    expect(discard).toHaveBeenCalledOnce();
    expect(await send({ text: textOf(1) })).toEqual({ read: true });
    discard.mockRestore();
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
