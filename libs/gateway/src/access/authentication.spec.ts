import { request as httpRequest } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorEntry, PlatformError } from '#common';
import type { AccountsService } from '#accounts';
import { addAuthentication } from './authentication.js';
import { StoreBudgets } from '../pipeline/store-budgets.js';

const accounts = {
  authenticate: (bearer: string) =>
    bearer === 'slk_good'
      ? Promise.resolve({ accountId: 'account', apiKeyId: 'key', kind: 'INFERENCE' })
      : bearer === 'slk_slow'
        ? new Promise(() => undefined)
        : Promise.reject(new PlatformError('AUTHENTICATION_FAILED', 'The API key is not valid.')),
} as unknown as AccountsService;

let server: FastifyInstance;

beforeAll(async () => {
  server = fastify();
  addAuthentication(server, { accounts, budgets: new StoreBudgets(50) }, ({ headers }) =>
    headers['x-blocked'] === undefined ? null : new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many failed requests.'),
  );
  server.setErrorHandler((error, _request, reply) =>
    reply.status(error instanceof PlatformError ? (errorEntry(error.code).status ?? 500) : 500).send(),
  );
  server.get('/api/v1/things', ({ caller }) => ({ caller }));
  server.get('/api/v1/accounts', { config: { access: 'admin' } }, () => ({}));
  server.get('/api/v1/farewell', { config: { access: 'anonymous' } }, ({ caller, keyLookupFailed }) => ({
    caller,
    keyLookupFailed,
  }));
  server.get('/api/v1/catalog', { config: { access: 'public' } }, ({ caller, keyLookupFailed }) => ({
    caller,
    keyLookupFailed,
  }));
  server.get('/api/v1/gone', { config: { access: 'anonymous', retired: true } }, ({ caller }) => ({ caller }));
  server.setNotFoundHandler(({ caller, keyLookupFailed }, reply) =>
    reply.status(404).send({ caller, keyLookupFailed }),
  );
  server.get('/health/live', () => ({}));
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterAll(async () => {
  await server.close();
});

/** Sends the path as it is; `fetch` would normalize it. */
async function statusOf(path: string, key?: string, more: Record<string, string> = {}): Promise<number> {
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const headers = { ...more, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  return new Promise((resolve, reject) => {
    const call = httpRequest({ host: '127.0.0.1', port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once('error', reject).end();
  });
}

describe('authentication', () => {
  it.each(['/api/v1/things', '/%61pi/v1/things', '/api/%76%31/things', 'http://elsewhere/api/v1/things'])(
    'requires a key for every spelling of the path: %s',
    async (path) => {
      expect(await statusOf(path)).toBe(401);
      expect(await statusOf(path, 'slk_bad')).toBe(401);
      expect(await statusOf(path, 'slk_good')).toBe(200);
    },
  );

  it.each(['/api/v1/accounts', '/%61pi/v1/accounts'])('rejects an INFERENCE key on %s', async (path) => {
    expect(await statusOf(path, 'slk_good')).toBe(403);
  });

  it.each([
    ['/api/v1/farewell', 200],
    ['/api/v1/nowhere', 404],
  ])('identifies the key sent to public route %s and rejects no other', async (url, status) => {
    const ask = async (authorization?: string) => {
      const response = await server.inject({ url, headers: authorization === undefined ? {} : { authorization } });
      return [response.statusCode, response.json<object>()];
    };
    const unauthenticatedClient = [status, { caller: null, keyLookupFailed: false }];
    expect(await ask('Bearer slk_good')).toEqual([status, { caller: expect.any(Object), keyLookupFailed: false }]);
    expect(await ask()).toEqual(unauthenticatedClient);
    expect(await ask('Bearer slk_bad')).toEqual(unauthenticatedClient);
    expect(await ask('Basic c2xr')).toEqual(unauthenticatedClient);
    expect(await ask('Bearer slk_slow')).toEqual([status, { caller: null, keyLookupFailed: true }]);
  });

  it('ignores the key on a removed endpoint', async () => {
    const response = await server.inject({ url: '/api/v1/gone', headers: { authorization: 'Bearer slk_good' } });
    expect(response.json<object>()).toEqual({ caller: null });
  });

  it('rejects a blocked unauthenticated client, but no client with a key', async () => {
    const blocked = { 'x-blocked': '1' };
    expect(await statusOf('/api/v1/things', undefined, blocked)).toBe(429);
    expect(await statusOf('/api/v1/things', 'slk_bad', blocked)).toBe(429);
    expect(await statusOf('/api/v1/things', 'slk_good', blocked)).toBe(200);
  });

  it('waits for the key lookup within the request budget, then reports that the service is unavailable', async () => {
    expect(await statusOf('/api/v1/things', 'slk_slow')).toBe(503);
  });

  it('serves a public route to a key that cannot be looked up, and rejects a wrong one', async () => {
    const ask = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await server.inject({ url: '/api/v1/catalog', headers });
      return [response.statusCode, response.body];
    };
    expect(await ask('slk_slow')).toEqual([200, JSON.stringify({ caller: null, keyLookupFailed: true })]);
    expect(await ask('slk_bad')).toEqual([401, '']);
  });

  it('ignores paths outside the base path', async () => {
    expect(await statusOf('/health/live')).toBe(200);
    expect(await statusOf('/nowhere')).toBe(404);
  });
});
