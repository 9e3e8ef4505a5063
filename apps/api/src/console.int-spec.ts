import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  AccountsRepository,
  AccountsService,
  type BootstrapKeys,
  ConsoleLinksService,
  ConsoleSessionsRepository,
} from '#accounts';
import { documentLimits } from '#characters';
import { ApiConfig, loadConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { createApplication } from './api-server.js';

let database: TestDatabase;
let home: string;
let prisma: PrismaService;
let app: NestFastifyApplication;
let origin: string;
let keys: BootstrapKeys;
let tenantKey: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  home = await mkdtemp(path.join(tmpdir(), 'sluice-console-'));
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('SLUICE_HOME', home);
  vi.stubEnv('SLUICE_SECRET_KEY', '5c'.repeat(32));
  vi.stubEnv('SLUICE_ABUSE_FAILURES', '10');
  vi.stubEnv('SLUICE_TRUSTED_PROXIES', '127.0.0.1');
  prisma = new PrismaService({ url: database.url, poolSize: 2 });
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const first = await accounts.bootstrap();
  if (first === null) throw new Error('The database was not empty.');
  keys = first;
  const { id: accountId } = await accounts.createAccount('tenant');
  tenantKey = (await accounts.createKey({ accountId, kind: 'ADMIN' })).key;
  app = await createApplication(loadConfig(ApiConfig), createLogger('api', { level: 'silent' }));
  await app.listen(0, '127.0.0.1');
  origin = await app.getUrl();
});

afterAll(async () => {
  await app.close();
  await prisma.$disconnect();
  vi.unstubAllEnvs();
  await database.drop();
  await rm(home, { recursive: true });
});

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: Record<string, unknown>;
}

interface Call {
  method?: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  payload?: object;
  /** Addresses are blocked one by one. */
  from?: string;
}

async function call(
  url: string,
  { method = 'GET', headers = {}, payload, from = '192.0.2.1' }: Call = {},
): Promise<Answer> {
  const response = await request(`${origin}${url}`, {
    method,
    headers: {
      'x-forwarded-for': from,
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: payload === undefined ? null : JSON.stringify(payload),
  });
  const text = await response.body.text();
  const isJson = String(response.headers['content-type'] ?? '').includes('json');
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

/** Signs in and returns the headers of the session's requests. */
async function signIn(payload: object): Promise<{ session: Answer; headers: Record<string, string> }> {
  const session = await call('/console/session', { method: 'POST', payload });
  const cookie = String(session.headers['set-cookie']).split(';', 1)[0] ?? '';
  return { session, headers: { cookie, 'x-sluice-csrf': String(session.body['csrf']) } };
}

const adminRoutes = ['overview', 'usage', 'requests', 'queue', 'workers', 'models', 'billing', 'health'];

async function statuses(headers: Record<string, string>, from = '192.0.2.1'): Promise<number[]> {
  const answers = await Promise.all(adminRoutes.map((route) => call(`/api/admin/v1/${route}`, { headers, from })));
  return answers.map(({ status }) => status);
}

/** Cookies in the form of those of sessions, which nobody here made. */
function junkCookies(count: number): string[] {
  const value = `${'x'.repeat(43)}.${'y'.repeat(22)}`;
  return Array.from({ length: count }, (_, index) => `sluice_console_${index}=${value}`);
}

describe('the session of a browser', () => {
  it('begins with a key, is used with its text, and ends by signing out', async () => {
    const { session, headers } = await signIn({ apiKey: keys.adminKey, path: '/a/b/' });
    expect(session.status).toBe(200);
    expect(session.body).toMatchObject({ role: 'operator', account: { id: keys.accountId } });
    expect(String(session.headers['set-cookie'])).toMatch(
      /^sluice_console_[\w-]{10}=[\w-]{43}\.[\w-]{22}; Max-Age=43200; Path=\/a\/b\/; HttpOnly; SameSite=Strict$/,
    );
    expect((await call('/console/session', { headers: { cookie: headers['cookie'] ?? '' } })).body).toEqual(
      session.body,
    );
    expect((await call('/api/v1/api_keys', { headers })).status).toBe(200);
    expect((await call('/api/v1/api_keys', { headers: { cookie: headers['cookie'] ?? '' } })).status).toBe(401);
    const ended = await call('/console/session?path=/a/b/', { method: 'DELETE', headers });
    expect([ended.status, ended.headers['set-cookie']]).toEqual([
      204,
      expect.stringMatching(/^sluice_console_[\w-]{10}=; Max-Age=0; Path=\/a\/b\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await call('/api/v1/api_keys', { headers })).status).toBe(401);
    expect((await call('/console/session', { headers })).status).toBe(401);
  });

  it('ends with the text of an earlier one, too: another tab has signed in since', async () => {
    const earlier = await signIn({ apiKey: keys.adminKey });
    const { headers } = await signIn({ apiKey: keys.adminKey });
    const stale = { cookie: headers['cookie'] ?? '', 'x-sluice-csrf': earlier.headers['x-sluice-csrf'] ?? '' };
    expect((await call('/console/session', { method: 'DELETE', headers: stale })).status).toBe(204);
    expect((await call('/api/v1/api_keys', { headers })).status).toBe(401);
    expect((await call('/api/v1/api_keys', { headers: earlier.headers })).status).toBe(200);
  });

  it('begins once with a link, and is marked Secure over TLS', async () => {
    const link = (await new ConsoleLinksService(new ConsoleSessionsRepository(prisma)).create()) ?? '';
    const sign = { method: 'POST', payload: { token: link.split('/').at(-1) } } as const;
    const first = await call('/console/session', { ...sign, headers: { origin: 'https://api.example.org' } });
    expect([first.status, String(first.headers['set-cookie'])]).toEqual([200, expect.stringContaining('; Secure')]);
    expect((await call('/console/session', sign)).status).toBe(401);
  });

  it('has a cookie over TLS that no page of a sibling domain can set or hide', async () => {
    const tls = { origin: 'https://api.example.org' };
    const session = await call('/console/session', { method: 'POST', headers: tls, payload: { apiKey: tenantKey } });
    const cookie = String(session.headers['set-cookie']);
    expect(cookie).toMatch(/^__Host-sluice_console_[\w-]{10}=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const own = cookie.split(';', 1)[0] ?? '';
    // A sibling domain sets cookies with a plain name: junk, and sessions that its owner opened here.
    const foreign = await signIn({ apiKey: keys.inferenceKey });
    const tossed = [...junkCookies(20), foreign.headers['cookie'], own].join('; ');
    expect((await call('/console/session', { headers: { cookie: tossed } })).body).toEqual(session.body);
    const headers = { cookie: tossed, 'x-sluice-csrf': String(session.body['csrf']) };
    expect((await call('/api/v1/api_keys', { headers })).status).toBe(200);
    const ended = await call('/console/session', { method: 'DELETE', headers: { ...headers, ...tls } });
    expect(String(ended.headers['set-cookie'])).toMatch(/^__Host-sluice_console_[\w-]{10}=; Max-Age=0; Path=\/;/);
    expect((await call('/console/session', { headers: { cookie: own } })).status).toBe(401);
    expect(
      (await call('/api/v1/chat/completions', { headers: foreign.headers, method: 'POST', payload: {} })).status,
    ).toBe(400);
  });

  it('is looked up only for cookies that this installation made', async () => {
    const repository = app.get(ConsoleSessionsRepository);
    const reads = vi.spyOn(repository, 'find');
    const deletions = vi.spyOn(repository, 'delete');
    const cookie = junkCookies(50).join('; ');
    for (const method of ['GET', 'DELETE'] as const) {
      const { status } = await call('/console/session', { method, headers: { cookie } });
      expect(status).toBe(method === 'GET' ? 401 : 204);
    }
    expect(reads).not.toHaveBeenCalled();
    expect(deletions).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it.each([
    [{}, 400],
    [{ apiKey: 'slk_x', token: 'y' }, 400],
    [{ apiKey: 'slk_x', path: '/a; Domain=example.org/' }, 400],
    [{ apiKey: 5 }, 400],
  ])('is refused for %j', async (payload, status) => {
    expect((await call('/console/session', { method: 'POST', payload, from: '192.0.2.2' })).status).toBe(status);
  });

  it('is refused to pages of other sites', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const answer = await call('/console/session', {
      method: 'POST',
      headers,
      payload: { apiKey: keys.adminKey },
      from: '192.0.2.3',
    });
    expect(answer.status).toBe(403);
  });

  it('blocks an address after failed sign-ins, but not for asking whether there is a session', async () => {
    const from = '192.0.2.4';
    for (let count = 0; count < 20; count += 1) expect((await call('/console/session', { from })).status).toBe(401);
    const wrong = { method: 'POST', payload: { apiKey: 'slk_wrong' }, from } as const;
    await expect.poll(async () => (await call('/console/session', wrong)).status).toBe(429);
  });
});

describe('the Admin API', () => {
  it('shows an inference key its own figures, an ADMIN key the account, and an operator the installation', async () => {
    expect(await statuses({ authorization: `Bearer ${keys.inferenceKey}` })).toEqual([
      200, 200, 200, 403, 403, 403, 403, 403,
    ]);
    expect(await statuses({ authorization: `Bearer ${tenantKey}` })).toEqual([200, 200, 200, 403, 403, 403, 200, 403]);
    expect(await statuses((await signIn({ apiKey: keys.adminKey })).headers)).toEqual(adminRoutes.map(() => 200));
    expect(await statuses({}, '192.0.2.5')).toEqual(adminRoutes.map(() => 401));
  });

  it('lists the requests of an account only to that account and to operators', async () => {
    const key = await prisma.apiKey.findFirst({ where: { accountId: keys.accountId, kind: 'INFERENCE' } });
    await prisma.$executeRaw`
      INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, state, deadline_at, finished_at)
      VALUES ('r1-TST', ${keys.accountId}::uuid, ${key?.id ?? null}::uuid, 'chat', 'tiny', 'succeeded', now(), now())`;
    const list = async (key: string, query = '') => {
      const headers = { authorization: `Bearer ${key}` };
      const { status, body } = await call(`/api/admin/v1/requests${query}`, { headers });
      return status === 200 ? (body['data'] as { id: string }[]).map(({ id }) => id) : status;
    };
    expect(await list(keys.inferenceKey)).toEqual(['r1-TST']);
    expect(await list(keys.adminKey, '?scope=installation')).toEqual(['r1-TST']);
    expect(await list(tenantKey)).toEqual([]);
    expect(await list(tenantKey, '?scope=installation')).toBe(403);
    const show = async (key: string) =>
      (await call('/api/admin/v1/requests/r1-TST', { headers: { authorization: `Bearer ${key}` } })).status;
    expect([await show(keys.inferenceKey), await show(keys.adminKey), await show(tenantKey)]).toEqual([200, 200, 404]);
  });

  it('shows operators the alerts that would fire, as the rows say, and judges each alert', async () => {
    const health = async () => {
      const headers = { authorization: `Bearer ${keys.adminKey}` };
      const { status, body } = await call('/api/admin/v1/health', { headers });
      expect(status).toBe(200);
      return body['alerts'] as {
        data: { name: string; state: string; runbook: string }[];
        judged: string[];
        unknown: string[];
      };
    };
    const before = await health();
    expect(before).toMatchObject({ data: [], unknown: [] });
    expect(before.judged.length).toBeGreaterThan(8);
    const key = await prisma.apiKey.findFirst({ where: { accountId: keys.accountId, kind: 'INFERENCE' } });
    await prisma.$executeRaw`
      INSERT INTO jobs (request_id, account_id, api_key_id, modality, model_id, deadline_at, enqueued_at)
      VALUES ('late-TST', ${keys.accountId}::uuid, ${key?.id ?? null}::uuid, 'chat', 'tiny', now() + interval '1 hour',
              now() - interval '10 minutes')`;
    await prisma.$executeRaw`
      INSERT INTO holds (request_id, account_id, api_key_id, model_id, diem_nano, bundled_nano, usd_nano, diem_epoch)
      VALUES ('late-TST', ${keys.accountId}::uuid, ${key?.id ?? null}::uuid, 'tiny', 0, 0, 0, now()::date)`;
    await prisma.$executeRaw`UPDATE jobs SET finished_at = now() - interval '1 hour' WHERE request_id = 'r1-TST'`;
    await prisma.$executeRaw`
      INSERT INTO ledger_verification (took_ms, breaks, verified_at)
      VALUES (1, '{"wrongBalances": 1}', now() - interval '4 hours')`;
    await prisma.$executeRaw`UPDATE usage_folded SET through = now() - interval '3 hours'`;
    const { data, unknown } = await health();
    expect(unknown).toEqual([]);
    expect(data.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'SluiceLedgerBroken firing',
      'SluiceJobsWaitLong firing',
      'SluiceLedgerNotVerified firing',
      'SluiceUsageNotFolded firing',
      'SluiceReservationsNotClosed pending',
    ]);
    expect(data[0]?.runbook).toBe('docs/runbooks/ledger-broken.md');
    await prisma.$executeRaw`DELETE FROM holds WHERE request_id = 'late-TST'`;
    await prisma.$executeRaw`DELETE FROM jobs WHERE request_id = 'late-TST'`;
  });

  it('shows the payments of wallets to their account only', async () => {
    const { accountId } = await new AccountsService(new AccountsRepository(prisma)).authenticate(tenantKey);
    await prisma.$executeRaw`
      INSERT INTO top_ups (network, payer, payment_key, payload_hash, fingerprint, state, amount_nano, posted_nano,
                           account_id, valid_until, next_look_at)
      VALUES ('eip155:8453', '0xpayer', 'key', 'hash', 'print', 'pending', 5000000000, 0, ${accountId}::uuid, now(), NULL)`;
    const topUpsOf = async (key: string) =>
      (await call('/api/admin/v1/billing', { headers: { authorization: `Bearer ${key}` } })).body['topUps'];
    const paid = { state: 'pending', network: 'eip155:8453', amount: '5.000000000', credited: '0.000000000' };
    expect(await topUpsOf(tenantKey)).toEqual([expect.objectContaining(paid)]);
    expect(await topUpsOf(keys.adminKey)).toEqual([]);
  });

  it('lets operators write, review and remove characters, and nobody else', async () => {
    const path = '/api/admin/v1/characters/night-porter';
    const own = { authorization: `Bearer ${keys.adminKey}` };
    const definition = { name: 'Night porter', systemPrompt: 'Be brief.', tags: ['hotel'], model: 'default' };
    for (const key of [tenantKey, keys.inferenceKey]) {
      const headers = { authorization: `Bearer ${key}` };
      expect((await call(path, { method: 'POST', payload: definition, headers })).status).toBe(403);
      expect((await call(path, { headers })).status).toBe(403);
    }
    expect((await call(path, { headers: own })).status).toBe(404);
    const saved = await call(path, { method: 'POST', payload: definition, headers: own });
    expect(saved.body).toMatchObject({ ...definition, slug: 'night-porter', documents: { model: null, data: [] } });
    const blank = await call(path, { method: 'POST', payload: { ...definition, name: ' ' }, headers: own });
    expect([blank.status, JSON.stringify(blank.body)]).toEqual([
      400,
      expect.stringContaining('name must not be blank'),
    ]);
    const reviewed = await call(`${path}/reviews`, { method: 'POST', payload: { rating: 4 }, headers: own });
    expect(reviewed.status).toBe(204);
    const shown = await call('/api/v1/characters/night-porter', { headers: own });
    expect(shown.body['data']).toMatchObject({ name: 'Night porter', stats: { averageRating: 4, ratingCount: 1 } });
    expect(JSON.stringify(shown.body)).not.toContain('Be brief.');
    const wrongSlug = await call('/api/admin/v1/characters/Night%20porter', {
      method: 'POST',
      payload: definition,
      headers: own,
    });
    expect([wrongSlug.status, JSON.stringify(wrongSlug.body)]).toEqual([400, expect.stringContaining('slug may hold')]);
    expect((await call(`${path}/documents`, { method: 'DELETE', headers: own })).body).toEqual({ removed: 0 });
    expect((await call(path, { method: 'DELETE', headers: own })).status).toBe(204);
    expect((await call(path, { method: 'DELETE', headers: own })).status).toBe(404);
  });

  it('lets operators alone add documents, and names what is wrong with one', async () => {
    const own = { authorization: `Bearer ${keys.adminKey}` };
    const character = '/api/admin/v1/characters/librarian';
    const definition = { name: 'Librarian', systemPrompt: 'Be quiet.' };
    expect((await call(character, { method: 'POST', payload: definition, headers: own })).status).toBe(200);
    const path = `${character}/documents`;
    // Failures block the key that sends them.
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const newKey = async () => (await accounts.createKey({ accountId: keys.accountId, kind: 'ADMIN' })).key;
    const send = async (fields: Record<string, string | File>, key?: string, to = path) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      const headers = { authorization: `Bearer ${key ?? (await newKey())}`, 'x-forwarded-for': '192.0.2.6' };
      const response = await fetch(`${origin}${to}`, { method: 'POST', headers, body: form });
      const { error, code, details } = (await response.json()) as Record<string, unknown>;
      return { status: response.status, code, problem: `${String(error)} ${JSON.stringify(details)}` };
    };
    const file = new File(['The library opens at nine.'], 'hours.md');
    for (const key of [tenantKey, keys.inferenceKey]) expect((await send({ file }, key)).status).toBe(403);
    const elsewhere = await send({ file }, undefined, '/api/admin/v1/characters/nobody/documents');
    expect(elsewhere).toMatchObject({ status: 404, code: 'CHARACTER_NOT_FOUND' });
    expect((await call(path, { method: 'POST', payload: { file: 'text' }, headers: own })).status).toBe(415);
    const refusals: [Record<string, string | File>, RegExp][] = [
      [{ name: 'a.md' }, /"file":.*is required/],
      [{ file: 'text' }, /"file":.*must be a file/],
      [{ file: new File([], 'a.md') }, /"file":.*is empty/],
      [{ file, name: ' ' }, /"name":.*must not be blank/],
      [{ file, name: 'a\u0007' }, /^name must not hold control characters/],
      [{ file, name: 'x'.repeat(201) }, /"name":.*200/],
      [{ file: new File(['x'], 'x'.repeat(201)) }, /^name must have at most 200/],
      [{ file: new File(['x'], '') }, /^name is required/],
      [{ file, second: file }, /one file/],
    ];
    for (const [fields, problem] of refusals) {
      const refusal = { status: 400, code: 'INVALID_REQUEST', problem: expect.stringMatching(problem) as string };
      expect(await send(fields)).toEqual(refusal);
    }
    const tooLarge = new File([Buffer.alloc(documentLimits.fileBytes + 1)], 'big.txt');
    expect(await send({ file: tooLarge })).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
    for (const model of ['default', 'unknown']) {
      expect(await send({ file, model })).toMatchObject({ status: 404, code: 'MODEL_NOT_FOUND' });
    }
    for (const id of [randomUUID(), 'hours.md']) {
      expect((await call(`${path}/${id}`, { method: 'DELETE', headers: own })).status).toBe(404);
    }
    expect((await call(character, { headers: own })).body['documents']).toEqual({ model: null, data: [] });
  });

  it('is in the OpenAPI document', async () => {
    const { body } = await call('/api/v1/openapi.json');
    const paths = body['paths'] as Record<string, Record<string, { servers?: object }>>;
    expect(paths['/admin/v1/models']?.['get']?.servers).toEqual([{ url: '/api' }]);
    expect(paths['/models']?.['get']).not.toHaveProperty('servers');
    expect(Object.keys(paths).some((name) => name.includes('console'))).toBe(false);
  });
});

describe('the address of the api', () => {
  it('sends browsers to the console and says nothing new to others', async () => {
    const browser = await call('/', { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([browser.status, browser.headers['location']]).toEqual([303, 'console/']);
    const client = await call('/', { headers: { accept: 'application/json' } });
    expect([client.status, client.body]).toEqual([404, expect.objectContaining({ code: 'NOT_FOUND' })]);
    expect((await call('/', { method: 'POST', payload: {} })).status).toBe(404);
  });
});
