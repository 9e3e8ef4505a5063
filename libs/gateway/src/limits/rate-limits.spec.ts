import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import type { RequestCaller } from '#platform/http';
import { addRateLimits, applyModelLimit, limitReplay, type RateLimitDependencies } from './rate-limits.js';
import { StoreBudgets } from '../request/store-budgets.js';
import { addResponseSharing, addSharedSending } from '../sharing/response-sharing.js';

const known: RequestCaller = {
  accountId: 'account',
  apiKeyId: 'key',
  kind: 'INFERENCE',
  tier: 'default',
  modelPrivacy: 'ALL',
  betaAccess: false,
};

/** A server that responds with the requested status, and the failures it counted. */
async function serve(
  caller: RequestCaller | null,
  abuseCount: RateLimitDependencies['abuseCount'] = 'caller',
): Promise<{ server: FastifyInstance; failed: ReturnType<typeof vi.fn> }> {
  const failed = vi.fn(async () => undefined);
  const decision = { headers: { 'x-ratelimit-type': 'user' }, refusal: null, tokens: 0, reservation: null };
  const limiter = { failed, blocked: async () => null, blockedAddress: () => null, admitPlain: async () => decision };
  const balances = { of: async () => ({ usdNano: 0n, diemNano: 0n }) };
  const server = fastify();
  server.decorateRequest('caller', null);
  server.decorateRequest('keyLookupFailed', false);
  server.addHook('onRequest', async (request) => {
    request.caller = caller;
    request.keyLookupFailed = request.headers['x-unchecked'] !== undefined;
  });
  const dependencies = { limiter, balances, budgets: new StoreBudgets({ storeTimeoutMs: 1_000 }), abuseCount };
  addRateLimits(server, dependencies as unknown as RateLimitDependencies);
  server.get<{ Params: { status: string } }>('/api/v1/status/:status', async (request, reply) =>
    reply.status(Number(request.params.status)).send({}),
  );
  server.get('/api/v1/gone', { config: { retired: true } }, async (_request, reply) => reply.status(410).send({}));
  server.get('/health/:status', async (_request, reply) => reply.status(503).send({}));
  await server.ready();
  return { server, failed };
}

describe('the failure count', () => {
  /** The statuses among these that count. */
  async function countedBy(abuseCount: RateLimitDependencies['abuseCount']): Promise<number[]> {
    const { server, failed } = await serve(known, abuseCount);
    const counted: number[] = [];
    for (const status of [200, 302, 400, 402, 404, 429, 500, 502, 503, 504]) {
      failed.mockClear();
      await server.inject(`/api/v1/status/${status}`);
      if (failed.mock.calls.length > 0) counted.push(status);
      for (const [caller] of failed.mock.calls) expect(caller).toEqual(known);
    }
    return counted;
  }

  it('includes the failures that a key is to blame for, and none of the service', async () => {
    expect(await countedBy('caller')).toEqual([400, 402, 404, 429]);
  });

  it('includes every response of 400 and above where the operator counts all', async () => {
    expect(await countedBy('all')).toEqual([400, 402, 404, 429, 500, 502, 503, 504]);
  });

  it('includes failures from an address without a key, except when a key could not be checked', async () => {
    const { server, failed } = await serve(null);
    await server.inject('/api/v1/status/401');
    await server.inject({ url: '/api/v1/status/401', headers: { authorization: 'Bearer slk_wrong' } });
    expect(failed).toHaveBeenCalledTimes(2);
    await server.inject({ url: '/api/v1/status/503', headers: { authorization: 'Bearer slk_known' } });
    expect(failed).toHaveBeenCalledTimes(2);
  });

  it('includes requests of a key to an unknown route, which also returns its limit headers', async () => {
    const { server, failed } = await serve(known);
    const { statusCode, headers } = await server.inject('/api/v1/nowhere');
    expect([statusCode, headers['x-ratelimit-type']]).toEqual([404, 'user']);
    expect(failed.mock.calls).toEqual([[known, '127.0.0.1']]);
  });

  it('excludes a key that was sent but could not be checked', async () => {
    const { server, failed } = await serve(null);
    await server.inject({ url: '/api/v1/nowhere', headers: { 'x-unchecked': '1' } });
    expect(failed).not.toHaveBeenCalled();
  });

  it.each([known, null])('excludes requests to removed endpoints', async (caller) => {
    const { server, failed } = await serve(caller);
    const { statusCode, headers } = await server.inject('/api/v1/gone');
    expect([statusCode, headers['x-ratelimit-type']]).toEqual([410, undefined]);
    expect(failed).not.toHaveBeenCalled();
  });

  it('excludes paths outside the API', async () => {
    const { server, failed } = await serve(null);
    await server.inject('/health/503');
    expect(failed).not.toHaveBeenCalled();
  });
});

describe('a response that another client was given', () => {
  /** Sends two requests for the same; resolves to the statuses, and to what the limiter was asked. */
  async function askTwice(refusal: PlatformError | null) {
    const asked: string[] = [];
    const decision = { headers: {}, refusal: null, tokens: 0, reservation: null };
    const limiter = {
      blocked: async () => (asked.push('blocked') > 2 && refusal !== null ? { ...decision, refusal } : null),
      admitPlain: async () => (asked.push('count'), decision),
      failed: async () => void asked.push('failed'),
      blockedAddress: () => null,
    };
    const server = fastify();
    server.decorateRequest('caller', null);
    server.addHook('onRequest', async (request) => void (request.caller = known));
    addResponseSharing(server);
    const balances = { of: async () => (asked.push('balance'), null) };
    const dependencies = { limiter, balances, budgets: new StoreBudgets({ storeTimeoutMs: 1_000 }), abuseCount: 'all' };
    addRateLimits(server, dependencies as unknown as RateLimitDependencies);
    addSharedSending(server);
    server.get('/api/v1/shared', { config: { shared: true } }, async () => ({}));
    const headers = { 'cache-control': 'max-age=4' };
    const first = await server.inject({ url: '/api/v1/shared', headers });
    const second = await server.inject({ url: '/api/v1/shared', headers });
    return { statuses: [first.statusCode, second.statusCode], age: second.headers['age'], asked };
  }

  it('counts as no request and asks no store', async () => {
    const { statuses, age, asked } = await askTwice(null);
    expect([statuses, age]).toEqual([[200, 200], '0']);
    expect(asked).toEqual(['blocked', 'count', 'balance', 'blocked']);
  });

  it('is not for a key that is blocked', async () => {
    const { statuses, age } = await askTwice(new PlatformError('RATE_LIMIT_EXCEEDED', 'Blocked.'));
    expect(statuses[0]).toBe(200);
    expect(statuses[1]).toBeGreaterThanOrEqual(400);
    expect(age).toBeUndefined();
  });
});

describe('open requests', () => {
  const model = { id: 'm', type: 'text', tier: 'S' } as const;

  /** Runs the limits of one request; `end` is the end of its response. */
  async function limitOnce(refusal: PlatformError | null, { isDestroyed = false } = {}) {
    const calls: string[] = [];
    const decision = { headers: { 'x-ratelimit-limit-concurrent': '1' }, refusal, tokens: 0, reservation: null };
    const open = { enter: async () => (calls.push('enter'), { ...decision, leave: () => void calls.push('leave') }) };
    const admitModel = async () => (calls.push('limit'), { headers: {}, refusal: null, tokens: 0, reservation: null });
    const request = { id: 'r', caller: known, limitDecision: null, countsAsOpen: false } as unknown as FastifyRequest;
    let end: () => void = () => undefined;
    const raw = { destroyed: isDestroyed, once: (_event: string, listener: () => void) => (end = listener) };
    const reply = { raw, headers: vi.fn() } as unknown as FastifyReply;
    const dependencies = { limiter: { admitModel }, open, budgets: new StoreBudgets({ storeTimeoutMs: 1_000 }) };
    const apply = (setsHeaders: boolean) =>
      applyModelLimit(dependencies as unknown as RateLimitDependencies, { request, reply }, { model, setsHeaders });
    const result = await apply(true).catch((error: unknown) => error);
    return { calls, result, request, again: () => apply(false), end: () => end() };
  }

  it('count once per request, before its limits, and until its response has ended', async () => {
    const { calls, again, end } = await limitOnce(null);
    // A job that prepares an input of the request.
    await again();
    expect(calls).toEqual(['enter', 'limit', 'limit']);
    end();
    expect(calls.at(-1)).toBe('leave');
  });

  it('beyond the limit are refused, and count nowhere else', async () => {
    const refusal = new PlatformError('CONCURRENCY_LIMIT_EXCEEDED', 'Too many at once.');
    const { calls, result, request } = await limitOnce(refusal);
    expect([calls, result]).toEqual([['enter'], refusal]);
    expect(request.limitDecision).not.toBeNull();
  });

  it('leave at once when their client is gone already', async () => {
    expect((await limitOnce(null, { isDestroyed: true })).calls).toEqual(['enter', 'leave', 'limit']);
  });
});

describe('a stored response', () => {
  const ask = async (refusal: PlatformError | null) => {
    const admitPlain = vi.fn(async () => ({ headers: { 'x-ratelimit-type': 'user' }, refusal }));
    const parts = {
      limiter: { admitPlain },
      budgets: new StoreBudgets({ storeTimeoutMs: 1_000 }),
    } as unknown as RateLimitDependencies;
    const request = { id: 'r', caller: known, limitDecision: null } as unknown as FastifyRequest;
    const reply = { headers: vi.fn() };
    const held = await limitReplay(parts, request, reply as unknown as FastifyReply).catch((error: unknown) => error);
    return { held, counted: request.limitDecision !== null, headers: reply.headers.mock.calls, admitPlain };
  };

  it('counts once, as a request that runs no model', async () => {
    const { held, counted, headers } = await ask(null);
    expect([held, counted, headers]).toEqual([undefined, true, [[{ 'x-ratelimit-type': 'user' }]]]);
  });

  it('is not sent to a rate-limited caller', async () => {
    const refusal = new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many requests.');
    expect((await ask(refusal)).held).toBe(refusal);
  });
});
