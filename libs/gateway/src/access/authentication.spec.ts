import { request as httpRequest } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorEntry, PlatformError } from '#common';
import type { AccountsService } from '#accounts';
import { addAuthentication, type AuthDependencies } from './authentication.js';
import { StoreBudgets } from '../request/store-budgets.js';
import { WalletSignIns, walletsAreOff } from '../wallets/wallet-sign-ins.js';

const accounts = {
  authenticate: (bearer: string) =>
    bearer === 'slk_good'
      ? Promise.resolve({ accountId: 'account', apiKeyId: 'key', kind: 'INFERENCE' })
      : bearer === 'slk_slow'
        ? new Promise(() => undefined)
        : Promise.reject(new PlatformError('AUTHENTICATION_FAILED', 'The API key is not valid.')),
} as unknown as AccountsService;

const signIns = {
  areOn: true,
  authenticate: (signIn: string) =>
    signIn === 'good'
      ? Promise.resolve({ accountId: 'account', apiKeyId: 'wallet key', kind: 'INFERENCE', wallet: '0xabc' })
      : signIn === 'slow'
        ? new Promise(() => undefined)
        : Promise.reject(new PlatformError('X402_INVALID_SIGN_IN', 'The signature is wrong.')),
} as unknown as Pick<WalletSignIns, 'areOn' | 'authenticate'>;

const token = 't'.repeat(43);
const sessions = {
  isCsrfTextOf: (given: string, text: string) => (given === token && text === 'proof') || text === 'old proof',
  authenticate: (given: string) =>
    given === token
      ? Promise.resolve({ accountId: 'account', apiKeyId: 'session key', kind: 'ADMIN' })
      : Promise.reject(new PlatformError('AUTHENTICATION_FAILED', 'The session has ended. Sign in again.')),
} as unknown as AuthDependencies['sessions'];

let server: FastifyInstance;

beforeAll(async () => {
  server = fastify();
  addAuthentication(
    server,
    { accounts, sessions, signIns, budgets: new StoreBudgets({ storeTimeoutMs: 50 }) },
    ({ headers }) =>
      headers['x-blocked'] === undefined ? null : new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many failed requests.'),
  );
  server.setErrorHandler((error, _request, reply) =>
    reply.status(error instanceof PlatformError ? (errorEntry(error.code).status ?? 500) : 500).send(),
  );
  server.get('/api/v1/things', ({ caller }) => ({ caller }));
  server.get('/api/v1/chats', { config: { wallets: true } }, ({ caller }) => ({ caller }));
  server.get('/api/v1/wallet', { config: { access: 'wallet' } }, ({ caller }) => ({ caller }));
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

  it('takes a key from x-api-key, unless there is an authorization header', async () => {
    expect(await statusOf('/api/v1/things', undefined, { 'x-api-key': 'slk_good' })).toBe(200);
    expect(await statusOf('/api/v1/things', undefined, { 'x-api-key': 'slk_bad' })).toBe(401);
    expect(await statusOf('/api/v1/things', undefined, { 'x-api-key': '' })).toBe(401);
    expect(await statusOf('/api/v1/things', 'slk_good', { 'x-api-key': 'slk_bad' })).toBe(200);
    expect(await statusOf('/api/v1/things', 'slk_bad', { 'x-api-key': 'slk_good' })).toBe(401);
  });

  it('ignores an unknown x-api-key on public routes, to which gateways add their own', async () => {
    expect(await statusOf('/api/v1/catalog', undefined, { 'x-api-key': 'of a gateway' })).toBe(200);
    expect(await statusOf('/api/v1/catalog', 'slk_bad')).toBe(401);
    expect(await statusOf('/api/v1/catalog', 'slk_bad', { 'x-api-key': 'of a gateway' })).toBe(401);
  });

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

  describe('with wallets', () => {
    const answerOf = async (url: string, headers: Record<string, string>) => {
      const response = await server.inject({ url, headers });
      return [response.statusCode, (response.body === '' ? {} : response.json<{ caller?: object }>()).caller] as const;
    };
    const key = { authorization: 'Bearer slk_good' };
    const wallet = expect.objectContaining({ wallet: '0xabc' });

    it.each(['SIGN-IN-WITH-X', 'X-Sign-In-With-X', 'sign-in-with-x'])('takes a sign-in in %s', async (name) => {
      expect(await answerOf('/api/v1/chats', { [name]: 'good' })).toEqual([200, wallet]);
      expect((await answerOf('/api/v1/chats', { [name]: 'bad' }))[0]).toBe(401);
      expect((await answerOf('/api/v1/chats', { [name]: 'slow' }))[0]).toBe(503);
    });

    it('takes one only where the route says so', async () => {
      expect((await answerOf('/api/v1/things', { 'sign-in-with-x': 'good' }))[0]).toBe(401);
      expect((await answerOf('/api/v1/accounts', { 'sign-in-with-x': 'good' }))[0]).toBe(401);
      const { caller } = (await server.inject({ url: '/api/v1/catalog', headers: { 'sign-in-with-x': 'good' } })).json<{
        caller: object | null;
      }>();
      expect(caller).toBeNull();
    });

    it.each(['/api/v1/chats', '/%61pi/v1/chats', 'http://elsewhere/api/v1/chats'])(
      'asks who sends nothing to %s for a payment',
      async (path) => {
        expect(await statusOf(path)).toBe(402);
        expect(await statusOf(path, undefined, { 'sign-in-with-x': 'good' })).toBe(200);
      },
    );

    it('takes a request with both as one of the key, also where the sign-in is wrong', async () => {
      const keyed = expect.objectContaining({ apiKeyId: 'key' });
      expect(await answerOf('/api/v1/chats', { ...key, 'sign-in-with-x': 'bad' })).toEqual([200, keyed]);
      const wrongKey = { authorization: 'Bearer slk_bad', 'sign-in-with-x': 'good' };
      expect((await answerOf('/api/v1/chats', wrongKey))[0]).toBe(401);
    });

    it('refuses two different sign-ins, and takes the same one under both names', async () => {
      const both = (second: string) => ({ 'sign-in-with-x': 'good', 'x-sign-in-with-x': second });
      expect((await answerOf('/api/v1/chats', both('other')))[0]).toBe(401);
      expect(await answerOf('/api/v1/chats', both('good'))).toEqual([200, wallet]);
    });

    it('lets wallets alone into their own routes', async () => {
      expect((await answerOf('/api/v1/wallet', key))[0]).toBe(401);
      expect((await answerOf('/api/v1/wallet', {}))[0]).toBe(401);
      expect(await answerOf('/api/v1/wallet', { ...key, 'sign-in-with-x': 'good' })).toEqual([200, wallet]);
    });

    it('blocks an address after failures, but not a wallet that signs in', async () => {
      const blocked = { 'x-blocked': '1' };
      expect(await statusOf('/api/v1/chats', undefined, { ...blocked, 'sign-in-with-x': 'bad' })).toBe(429);
      expect(await statusOf('/api/v1/chats', undefined, { ...blocked, 'sign-in-with-x': 'good' })).toBe(200);
    });

    it('answers as before while they are off, and says so on their own routes', async () => {
      const plain = fastify();
      const services = { accounts, sessions, signIns: new WalletSignIns(null) };
      const parts = { ...services, budgets: new StoreBudgets({ storeTimeoutMs: 50 }) };
      addAuthentication(plain, parts);
      plain.setErrorHandler((error: PlatformError, _request, reply) =>
        reply.status(errorEntry(error.code).status ?? 500).send({ message: error.message }),
      );
      plain.get('/api/v1/chats', { config: { wallets: true } }, ({ caller }) => ({ caller }));
      plain.get('/api/v1/wallet', { config: { access: 'wallet' } }, () => ({}));
      const ask = async (url: string, headers: Record<string, string>) => {
        const response = await plain.inject({ url, headers });
        return [response.statusCode, response.json<{ message?: string }>().message] as const;
      };
      expect(await ask('/api/v1/chats', {})).toEqual([401, expect.stringContaining('An API key is required')]);
      expect(await ask('/api/v1/chats', { 'sign-in-with-x': 'good' })).toEqual([
        401,
        `${walletsAreOff} Send an API key.`,
      ]);
      expect(await ask('/api/v1/wallet', { 'sign-in-with-x': 'good' })).toEqual([503, walletsAreOff]);
      await plain.close();
    });
  });
});

describe('a session of the console', () => {
  const cookie = `other=1; sluice_console_0123456789=${'x'.repeat(43)}; sluice_console_aaaaaaaaaa=${token}`;
  const ask = async (headers: Record<string, string>) => {
    const response = await server.inject({ url: '/api/v1/things', headers });
    return [response.statusCode, response.statusCode === 200 ? response.json<{ caller: object }>().caller : null];
  };

  it('stands for its key, if the request repeats the text that only its pages know', async () => {
    expect(await ask({ cookie, 'x-sluice-csrf': 'proof' })).toEqual([
      200,
      expect.objectContaining({ apiKeyId: 'session key' }),
    ]);
    expect(await statusOf('/api/v1/accounts', undefined, { cookie, 'x-sluice-csrf': 'proof' })).toBe(200);
  });

  it('stands for nothing without that text, or with another one', async () => {
    expect(await ask({ cookie })).toEqual([401, null]);
    expect(await ask({ cookie, 'x-sluice-csrf': 'forged' })).toEqual([401, null]);
    expect(await ask({ 'x-sluice-csrf': 'proof' })).toEqual([401, null]);
  });

  it('gives way to an API key, valid or not', async () => {
    const session = { cookie, 'x-sluice-csrf': 'proof' };
    expect(await ask({ ...session, authorization: 'Bearer slk_good' })).toEqual([
      200,
      expect.objectContaining({ apiKeyId: 'key' }),
    ]);
    expect(await ask({ ...session, authorization: 'Bearer slk_bad' })).toEqual([401, null]);
  });

  it('is refused once it has ended, also on a public route', async () => {
    const ended = { cookie: `sluice_console_0123456789=${'x'.repeat(43)}`, 'x-sluice-csrf': 'old proof' };
    expect(await ask(ended)).toEqual([401, null]);
    expect(await statusOf('/api/v1/catalog', undefined, ended)).toBe(401);
  });
});
