import { PassThrough, Readable } from 'node:stream';
import type { ExecutionContext } from '@nestjs/common';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { EMPTY } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ClaimEnding, IdempotencyService, KeyClaim, StoredResponse } from '#jobs';
import { sseData, SseWriter } from '#platform/http';
import { fingerprintBody } from '#platform/idempotency';
import { parseJsonBody } from '#platform/json';
import { testDouble } from '#test/test-double';
import { RecordingQuota, ResponseRecorder, maxResponseBytes } from './response-recorder.js';
import { addResponseRecording, IdempotencyInterceptor } from './idempotency.interceptor.js';
import { StoreBudgets } from '../request/store-budgets.js';

interface Ended {
  ending: ClaimEnding;
  answer: StoredResponse | null;
}

let server: FastifyInstance;
type KeyedRequest = Parameters<IdempotencyService['open']>[0];

let asked: KeyedRequest[];
let ended: Ended[];
let storedResponse: { answer: StoredResponse; isCut: boolean } | null;
let onEnd: () => void;
let replayRefusal: PlatformError | null;

/** Treats every request as the first one unless a stored response is given. */
const idempotency = {
  open: (request: KeyedRequest) => {
    asked.push(request);
    if (storedResponse !== null) return Promise.resolve(storedResponse);
    const end = (ending: ClaimEnding, answer: StoredResponse | null): Promise<void> => {
      ended.push({ ending, answer });
      onEnd();
      return Promise.resolve();
    };
    return Promise.resolve({ claim: { end } });
  },
} as unknown as IdempotencyService;

async function stream(reply: FastifyReply, ending?: 'failed'): Promise<void> {
  const writer = new SseWriter(reply, { stalledMs: 1_000, keepAliveMs: 1_000 });
  void reply.header('x-service-model-id', 'm');
  await writer.write(sseData('{"text":"ä"}'));
  await writer.write(sseData('[DONE]'));
  writer.end(ending);
}

beforeEach(async () => {
  asked = [];
  ended = [];
  storedResponse = null;
  onEnd = () => undefined;
  replayRefusal = null;
  server = fastify();
  server.decorateRequest('caller', null);
  server.addHook('onRequest', async (request, reply) => {
    request.caller = { accountId: 'account', apiKeyId: 'key', kind: 'INFERENCE' } as typeof request.caller;
    void reply.header('cf-ray', request.id);
  });
  const apply = (): Promise<void> => (replayRefusal === null ? Promise.resolve() : Promise.reject(replayRefusal));
  addResponseRecording(server);
  const interceptor = new IdempotencyInterceptor(
    idempotency,
    new StoreBudgets({ storeTimeoutMs: 60_000 }),
    testDouble({ apply }),
  );
  // Does what Nest does in front of a handler. After a replay, `handle` is never called.
  server.addHook('preHandler', (request, reply, done) => {
    const http = { getRequest: () => request, getResponse: () => reply };
    const context = { switchToHttp: () => http } as unknown as ExecutionContext;
    const handle = () => (done(), EMPTY);
    interceptor.intercept(context, { handle }).subscribe({ error: done });
  });
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    fingerprintBody(request, body);
    done(null, parseJsonBody(body));
  });
  server.setErrorHandler((error, _request, reply) => {
    const { code, param } = PlatformError.from(error);
    return reply.status(400).send({ code, param });
  });
  const config = { billed: true } as const;
  server.post('/json/:id', { config }, (_request, reply) => reply.header('x-service-model-id', 'm').send({ a: 1 }));
  server.post('/other/:id', { config }, () => ({}));
  server.post('/bytes', { config }, (_request, reply) =>
    reply.type('audio/mpeg').send(Readable.from([Buffer.from('ab'), Buffer.from('cd')])),
  );
  server.post('/events', { config }, (_request, reply) => stream(reply));
  server.post('/broken', { config }, (_request, reply) => stream(reply, 'failed'));
  server.post('/refused', { config }, () => {
    throw new PlatformError('INVALID_REQUEST', 'No.');
  });
  server.post('/endless', { config }, async (_request, reply) => {
    const writer = new SseWriter(reply, { stalledMs: 60_000, keepAliveMs: 60_000 });
    await writer.write(sseData('{}'));
  });
  server.post('/endless-bytes', { config }, (_request, reply) => {
    const body = new PassThrough();
    body.write('ab');
    return reply.type('audio/mpeg').send(body);
  });
  server.post('/free', () => ({}));
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

async function post(path: string, body = '{}', key = 'k1'): Promise<Response> {
  const { port } = server.server.address() as { port: number };
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
}

function fingerprints(): string[] {
  return asked.map(({ fingerprint }) => Buffer.from(fingerprint).toString('hex'));
}

describe('the first request with a key', () => {
  it('with a JSON response stores it with its own headers', async () => {
    await post('/json/1');
    expect(ended).toEqual([
      {
        ending: 'answered',
        answer: {
          status: 200,
          headers: { 'content-type': 'application/json; charset=utf-8', 'x-service-model-id': 'm' },
          body: Buffer.from('{"a":1}'),
        },
      },
    ]);
  });

  it('with a binary response stores the bytes as they are sent', async () => {
    const response = await post('/bytes');
    expect(await response.text()).toBe('abcd');
    expect(ended[0]).toMatchObject({ ending: 'answered', answer: { body: Buffer.from('abcd') } });
    expect(ended[0]?.answer?.headers).toEqual({ 'content-type': 'audio/mpeg' });
  });

  it('with an event stream stores it as it was sent', async () => {
    const response = await post('/events');
    const text = await response.text();
    expect(text).toContain('[DONE]');
    expect(ended[0]).toMatchObject({ ending: 'answered', answer: { body: Buffer.from(text) } });
    expect(ended[0]?.answer?.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8' });
  });

  it('is recorded as failed when it was rejected or ended with an error', async () => {
    expect((await post('/refused')).status).toBe(400);
    await (await post('/broken')).text();
    expect(ended.map(({ ending }) => ending)).toEqual(['failed', 'failed']);
  });

  it.each([
    ['/endless', 'data: {}\n\n'],
    ['/endless-bytes', null],
  ])('at %s is recorded as cut when its client disconnects', async (path, body) => {
    const response = await post(path);
    const told = new Promise<void>((resolve) => (onEnd = resolve));
    await response.body?.cancel();
    await told;
    expect(ended).toEqual([{ ending: 'cut', answer: body === null ? null : (expect.anything() as unknown) }]);
    if (body !== null) expect(ended[0]?.answer?.body.toString()).toBe(body);
  });
});

describe('a request whose key has a stored response', () => {
  it('gets that response, marked as replayed', async () => {
    const body = Buffer.from('{"a":1}');
    storedResponse = {
      answer: { status: 200, headers: { 'content-type': 'application/json', 'x-a': 'b' }, body },
      isCut: false,
    };
    const response = await post('/json/1');
    expect(await response.text()).toBe('{"a":1}');
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'idempotent-replayed': 'true', 'x-a': 'b' });
    expect(response.headers.get('cf-ray')).not.toBeNull();
    expect(ended).toEqual([]);
  });

  it('is rejected while the caller is rate-limited', async () => {
    storedResponse = { answer: { status: 200, headers: {}, body: Buffer.from('{}') }, isCut: false };
    replayRefusal = new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many requests.');
    const response = await post('/json/1');
    expect(response.headers.get('idempotent-replayed')).toBeNull();
    expect(await response.json()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
  });

  it('gets an error frame after a stream that was cut', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    storedResponse = { answer: { status: 200, headers, body: Buffer.from('data: {}\n\n') }, isCut: true };
    const text = await (await post('/events')).text();
    expect(text).toMatch(/^data: {}\n\ndata: {"error":{.*"code":"IDEMPOTENT_ANSWER_LOST".*}}\n\n$/);
  });
});

describe('the request fingerprint', () => {
  it('covers the exact body, the route and its parameters', async () => {
    for (const path of ['/json/1', '/json/2', '/other/1', '/json/1?a=1']) await post(path, '{"a":1}');
    await post('/json/1', '{"a": 1}');
    await post('/json/1', '{"a":1}');
    const [first, ...others] = fingerprints();
    expect(new Set(others.slice(0, 4)).size).toBe(4);
    expect(others.slice(0, 4)).not.toContain(first);
    expect(others[4]).toBe(first);
  });

  it('is computed on billed routes only', async () => {
    await post('/free');
    expect(asked).toEqual([]);
  });

  it.each(['', 'a b', 'ä'.normalize('NFC'), 'x'.repeat(256), 'a,b'])('refuses %j as a key', async (key) => {
    const response = await server.inject({
      method: 'POST',
      url: '/json/1',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      payload: '{}',
    });
    expect(response.json()).toEqual({ code: 'INVALID_REQUEST', param: 'Idempotency-Key' });
    expect(asked).toEqual([]);
  });
});

describe('the recording quota', () => {
  function recorder(room: RecordingQuota): ResponseRecorder {
    const end = (ending: ClaimEnding, answer: StoredResponse | null): Promise<void> => {
      ended.push({ ending, answer });
      return Promise.resolve();
    };
    const claim = { end } as unknown as ConstructorParameters<typeof ResponseRecorder>[0];
    const made = new ResponseRecorder(claim, room, new Set());
    made.begin(200, {});
    return made;
  }

  it('drops a response that is too long and still stores the next one', async () => {
    const room = new RecordingQuota(maxResponseBytes * 4);
    const long = recorder(room);
    for (let part = 0; part <= 16; part += 1) long.add(Buffer.alloc(maxResponseBytes / 16));
    await long.end('whole');
    const short = recorder(room);
    short.add('ab');
    await short.end('whole');
    expect(ended).toEqual([
      { ending: 'answered', answer: null },
      { ending: 'answered', answer: { status: 200, headers: {}, body: Buffer.from('ab') } },
    ]);
  });

  it('is shared by all concurrent recordings and released afterwards', async () => {
    const room = new RecordingQuota(10);
    const [first, second] = [recorder(room), recorder(room)];
    first.add('12345678');
    second.add('123');
    await second.end('whole');
    await first.end('whole');
    const third = recorder(room);
    third.add('1234567890');
    await third.end('whole');
    expect(ended.map(({ answer }) => answer?.body.length ?? null)).toEqual([null, 8, 10]);
  });

  it('stays used until the recording is stored', async () => {
    const room = new RecordingQuota(10);
    let isSticky = (): void => undefined;
    const slow = { end: () => new Promise<void>((resolve) => (isSticky = resolve)) };
    const waiting = new ResponseRecorder(slow as unknown as KeyClaim, room, new Set());
    waiting.begin(200, {});
    waiting.add('12345678');
    const end = waiting.end('whole');
    waiting.cut();
    expect(room.take(3)).toBe(false);
    isSticky();
    await end;
    expect(room.take(10)).toBe(true);
  });
});
