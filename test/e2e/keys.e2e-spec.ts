import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* API keys as their owners use them, through the real processes. */

interface KeyRecord {
  id: string;
  apiKey?: string;
  description: string;
  consumptionLimits: { usd: number | null };
  currentPeriodUsage?: { usd: string };
  usage: { trailingSevenDays: { usd: string } };
  lastUsedAt: string | null;
}

interface Answer<Data = KeyRecord> {
  status: number;
  headers: Headers;
  body: { data: Data; success?: boolean; error?: unknown; code?: string; details?: object; issues?: object[] };
}

const wallet = privateKeyToAccount(generatePrivateKey());

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({
    replicas: { api: 2 },
    env: {
      SLUICE_CORS_ORIGINS: 'https://console.example',
      SLUICE_STAKE_ALLOW_LIST: wallet.address,
      // Nothing listens there: a chain endpoint that does not respond.
      SLUICE_STAKE_RPC_URL: 'http://127.0.0.1:9',
      SLUICE_STAKE_CONTRACT: `0x${'c0'.repeat(20)}`,
    },
  });
});

afterAll(async () => {
  await platform.stop();
});

beforeEach(async () => {
  // Most tests are not about the limit of 20 keys per minute.
  await platform.query(`UPDATE api_keys SET created_at = created_at - interval '2 minutes'`);
});

afterEach(async () => {
  await platform.closedJobs(30_000);
  await expectInvariant(platform);
});

async function call<Data = KeyRecord>(
  method: string,
  path: string,
  { body, key = platform.adminKey }: { body?: unknown; key?: string | null } = {},
): Promise<Answer<Data>> {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${platform.baseUrl}${path}`, { method, headers, body: text });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer<Data>['body'] };
}

async function create(more: object = {}): Promise<Required<Pick<KeyRecord, 'id' | 'apiKey'>>> {
  const answer = await call('POST', '/api_keys', { body: { apiKeyType: 'INFERENCE', description: 'a key', ...more } });
  expect(answer.status).toBe(200);
  return { id: answer.body.data.id, apiKey: answer.body.data.apiKey ?? '' };
}

async function chat(
  key: string,
  { content = 'Hello [[tokens=5]]', model = 'tiny-llama' } = {},
): Promise<{ status: number; error?: { code: string } }> {
  const body = { model, messages: [{ role: 'user', content }], max_completion_tokens: 10 };
  const answer = await call<never>('POST', '/chat/completions', { key, body });
  return { status: answer.status, error: answer.body.error as { code: string } | undefined };
}

async function find(id: string): Promise<KeyRecord> {
  return (await call('GET', `/api_keys/${id}`)).body.data;
}

async function allKeys(): Promise<KeyRecord[]> {
  return (await call<KeyRecord[]>('GET', '/api_keys')).body.data;
}

/** A key of another account. */
async function foreignKey(): Promise<string> {
  const [row] = await platform.query<{ id: string }>(
    `WITH a AS (INSERT INTO accounts (name) VALUES ('another account') RETURNING id)
     INSERT INTO api_keys (account_id, kind, key_hash, last6) SELECT id, 'ADMIN', $1, 'abcdef' FROM a RETURNING id`,
    [createHash('sha256').update(randomBytes(9)).digest()],
  );
  return row?.id ?? '';
}

describe('the life of a key', () => {
  it('begins with the only response that shows it, and ends on every replica', async () => {
    const body = { apiKeyType: 'INFERENCE', description: 'Batch 🚣', expiresAt: '2999-01-31', modelPrivacy: 'ALL' };
    const made = await call('POST', '/api_keys', { body });
    expect(made.body).toEqual({
      success: true,
      data: {
        id: expect.any(String),
        apiKey: expect.stringMatching(/^slk_[\w-]{43}$/),
        apiKeyType: 'INFERENCE',
        consumptionLimit: { usd: null, diem: null, vcu: null },
        limitPeriod: 'EPOCH',
        modelPrivacy: 'ALL',
        description: 'Batch 🚣',
        expiresAt: '2999-01-31T00:00:00.000Z',
      },
    });
    const { id, apiKey = '' } = made.body.data;
    expect((await chat(apiKey)).status).toBe(200);
    await platform.closedJobs();
    const { apiKey: hidden, ...record } = await find(id);
    expect(hidden).toBeUndefined();
    expect(record).toMatchObject({ last6Chars: apiKey.slice(-6), createdAt: expect.any(String) });
    expect(record).not.toHaveProperty('currentPeriodUsage');
    expect(Number(record.usage.trailingSevenDays.usd)).toBeGreaterThan(0);
    expect(await allKeys()).toContainEqual(await find(id));
    expect((await call('DELETE', `/api_keys?id=${id}`)).body).toEqual({ success: true });
    expect(await call('GET', `/api_keys/${id}`)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect((await allKeys()).map((key) => key.id)).not.toContain(id);
    expect(await chat(apiKey)).toMatchObject({ status: 401, error: { code: 'AUTHENTICATION_FAILED_INACTIVE_KEY' } });
  });

  it('is over also where the DELETE names the type of a body that it does not have', async () => {
    const { id } = await create();
    expect((await call('DELETE', `/api_keys?id=${id}`, { body: '' })).body).toEqual({ success: true });
  });

  it('can be changed and deleted by scripts of an allowed origin only', async () => {
    const preflight = async (origin: string, method: string) => {
      const asked = {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
      };
      const { status, headers } = await fetch(`${platform.baseUrl}/api_keys`, { method: 'OPTIONS', headers: asked });
      return [status, headers.get('access-control-allow-origin'), headers.get('access-control-allow-methods')];
    };
    const [status, origin, methods] = await preflight('https://console.example', 'DELETE');
    expect([status, origin, String(methods).split(', ')]).toEqual([
      204,
      'https://console.example',
      ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    ]);
    expect((await preflight('https://elsewhere.example', 'DELETE'))[1]).toBeNull();
  });

  it('exposes its headers to scripts of that origin, also with an error', async () => {
    const headers = { origin: 'https://console.example' };
    const { status, headers: answered } = await fetch(`${platform.baseUrl}/api_keys`, { headers });
    const exposed = answered.get('access-control-expose-headers')?.split(', ') ?? [];
    expect([status, answered.get('access-control-allow-origin')]).toEqual([401, 'https://console.example']);
    expect(exposed).toEqual(expect.arrayContaining(['x-service-version', 'x-ratelimit-type', 'x-next-cursor']));
  });

  it('ends on the other replica too, which had it cached', async () => {
    const { id, apiKey } = await create();
    const statusElsewhere = async () =>
      (await fetch(`${platform.origins[1]}/api/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } })).status;
    expect(await statusElsewhere()).toBe(200);
    await call('DELETE', `/api_keys?id=${id}`);
    await expect.poll(statusElsewhere, { timeout: 15_000 }).toBe(401);
  });

  it('is changed by the fields of a patch, with either name of the limit', async () => {
    const { id } = await create({ consumptionLimit: { usd: 1.5, diem: 2 }, limitPeriod: 'MONTH' });
    const patched = await call('PATCH', '/api_keys', { body: { id, consumptionLimits: { usd: 9_999_999_999 } } });
    expect(patched).toMatchObject({
      status: 200,
      body: {
        success: true,
        data: { consumptionLimits: { usd: 9_999_999_999, diem: 2, vcu: 2 }, limitPeriod: 'MONTH', expiresAt: null },
      },
    });
    expect(await find(id)).toMatchObject({ currentPeriodUsage: { usd: '0.000000', diem: '0.000000' } });
    await call('PATCH', '/api_keys', { body: { id, expiresAt: '2999-01-01T00:00:00Z', description: '' } });
    const cleared = await call('PATCH', '/api_keys', { body: { id, expiresAt: null } });
    expect(cleared.body.data).toMatchObject({ expiresAt: null, description: '', consumptionLimits: { diem: 2 } });
  });

  it('is limited to 20 new ones per minute', async () => {
    const body = { apiKeyType: 'INFERENCE', description: 'one of many' };
    const answers = await Promise.all(Array.from({ length: 25 }, () => call('POST', '/api_keys', { body })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(5);
    expect(refused[0]?.body).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', error: expect.stringContaining('20') });
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

describe('the limits of a key', () => {
  it('apply to concurrent requests and can be raised', async () => {
    const { id, apiKey } = await create();
    await chat(apiKey);
    await platform.closedJobs();
    const cost = Number((await find(id)).usage.trailingSevenDays.usd);
    const limit = Number((cost * 40).toFixed(6));
    await call('PATCH', '/api_keys', { body: { id, consumptionLimit: { usd: limit }, limitPeriod: 'LIFETIME' } });
    const answers = await Promise.all(Array.from({ length: 60 }, () => chat(apiKey)));
    await platform.closedJobs(30_000);
    const codes = answers.filter(({ status }) => status !== 200).map(({ error }) => error?.code);
    expect(new Set(codes)).toEqual(new Set(['API_KEY_USD_SPEND_LIMIT_EXCEEDED']));
    const spent = await find(id);
    expect(Number(spent.currentPeriodUsage?.usd)).toBeGreaterThan(0);
    expect(Number(spent.currentPeriodUsage?.usd)).toBeLessThanOrEqual(limit);
    await call('PATCH', '/api_keys', { body: { id, consumptionLimit: { usd: 1 } } });
    expect((await chat(apiKey)).status).toBe(200);
  });

  it('of zero forbid a currency', async () => {
    const { apiKey } = await create({ consumptionLimit: { usd: 0 } });
    const answer = await chat(apiKey);
    expect(answer).toMatchObject({ status: 402, error: { code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED' } });
    await platform.query(`SELECT ledger_set_stake(id, 1000000000) FROM accounts WHERE name = 'default'`);
    const { apiKey: other } = await create({ consumptionLimit: { diem: 0 } });
    const diem = await chat(other);
    expect(diem).toMatchObject({ status: 402, error: { code: 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED' } });
    await platform.query(`SELECT ledger_set_stake(id, 0) FROM accounts WHERE name = 'default'`);
  });

  it('restrict it to private models, with either policy', async () => {
    const setPrivacy = (privacy: string) =>
      platform.query(`UPDATE models SET manifest = jsonb_set(manifest, '{privacy}', to_jsonb($1::text))`, [privacy]);
    const textOnly = await create({ modelPrivacy: 'PRIVATE_TEXT' });
    const all = await create({ modelPrivacy: 'PRIVATE_ONLY' });
    const { apiKey: free } = await create();
    await setPrivacy('anonymized');
    await platform.query(
      `INSERT INTO models (id, type, manifest)
       SELECT 'held-by-nobody', type, jsonb_set(manifest, '{id}', '"held-by-nobody"') FROM models WHERE id = 'tiny-llama'`,
    );
    // The registry is reloaded every 2 s.
    await expect
      .poll(() => chat(textOnly.apiKey), { timeout: 15_000 })
      .toMatchObject({
        status: 403,
        error: { code: 'UNAUTHORIZED', message: expect.stringContaining('PRIVATE_TEXT') },
      });
    expect(await chat(all.apiKey)).toMatchObject({ status: 403 });
    expect((await chat(free)).status).toBe(200);
    // A key that may not call the model gets the same error with or without a replica.
    const absent = { model: 'held-by-nobody' };
    expect(await chat(free, absent)).toMatchObject({ status: 503, error: { code: 'MODEL_OFFLINE' } });
    expect(await chat(all.apiKey, absent)).toMatchObject({ status: 403, error: { code: 'UNAUTHORIZED' } });
    await platform.query(`DELETE FROM models WHERE id = 'held-by-nobody'`);
    await call('PATCH', '/api_keys', { body: { id: all.id, modelPrivacy: 'ALL' } });
    expect((await chat(all.apiKey)).status).toBe(200);
    await setPrivacy('private');
    await expect.poll(async () => (await chat(textOnly.apiKey)).status, { timeout: 15_000 }).toBe(200);
  });
});

describe('bad input', () => {
  const id = '00000000-0000-4000-8000-000000000000';

  it.each([
    ['GET', '/api_keys', undefined],
    ['GET', `/api_keys/${id}`, undefined],
    ['POST', '/api_keys', { apiKeyType: 'ADMIN', description: 'mine now' }],
    ['PATCH', '/api_keys', { id }],
    ['DELETE', `/api_keys?id=${id}`, undefined],
    ['GET', '/billing/balance', undefined],
    ['GET', '/billing/usage-history', undefined],
    ['GET', '/billing/usage-analytics', undefined],
  ])('%s %s rejects inference keys and unauthenticated clients', async (method, path, body) => {
    const forbidden = await call(method, path, { body, key: platform.inferenceKey });
    expect(forbidden).toMatchObject({ status: 403, body: { code: 'UNAUTHORIZED', error: expect.any(String) } });
    expect(await call(method, path, { body, key: null })).toMatchObject({ status: 401 });
    expect(await call(method, path, { body, key: 'slk_wrong' })).toMatchObject({ status: 401 });
  });

  it.each([
    ['a negative limit', { consumptionLimit: { usd: -5 } }, 'consumptionLimit.usd'],
    ['a huge limit', { consumptionLimit: { usd: 1e12 } }, 'consumptionLimit.usd'],
    ['a limit in words', { consumptionLimit: { diem: 'NaN' } }, 'consumptionLimit.diem'],
    ['a limit with too many decimals', { consumptionLimit: { usd: 1e-12 } }, 'consumptionLimit.usd'],
    ['a date in the past', { expiresAt: '2020-01-01' }, 'expiresAt'],
    ['a day that does not exist', { expiresAt: '2999-02-30' }, 'expiresAt'],
    ['a description of 65 characters', { description: 'ä'.repeat(65) }, 'description'],
    ['a description of 65 emoji', { description: '🚣'.repeat(65) }, 'description'],
    ['an unknown period', { limitPeriod: 'HOUR' }, 'limitPeriod'],
    ['an unknown privacy', { modelPrivacy: 'SOME' }, 'modelPrivacy'],
  ])('%s is rejected and changes nothing', async (_name, fields, field) => {
    const { id: known } = await create();
    const before = await allKeys();
    const made = { apiKeyType: 'INFERENCE', description: 'bad', ...fields };
    for (const answer of [
      await call('POST', '/api_keys', { body: made }),
      await call('PATCH', '/api_keys', { body: { id: known, ...fields } }),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', details: { _errors: [] } } });
      expect(answer.body.error).toContain(field);
      expect(answer.body.issues).toEqual([expect.objectContaining({ path: field.split('.') })]);
    }
    expect(await allKeys()).toEqual(before);
  });

  it.each([
    ['NaN, which JSON has not', '{"apiKeyType":"INFERENCE","description":"x","consumptionLimit":{"usd":NaN}}'],
    ['a number out of range', '{"apiKeyType":"INFERENCE","description":"x","consumptionLimit":{"usd":1e999}}'],
    ['an unpaired surrogate', String.raw`{"apiKeyType":"INFERENCE","description":"\ud83d"}`],
    ['a list', '[]'],
    ['nothing', ''],
  ])('%s is rejected', async (_name, body) => {
    const before = await allKeys();
    expect(await call('POST', '/api_keys', { body })).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(await allKeys()).toEqual(before);
  });

  it('takes 64 characters, and 64 emoji', async () => {
    for (const description of ['x'.repeat(64), '🚣'.repeat(64)]) {
      const { id: made } = await create({ description });
      expect((await find(made)).description).toBe(description);
    }
  });

  it('has no access to keys of other accounts', async () => {
    const foreign = await foreignKey();
    const body = { id: foreign, description: 'mine now' };
    const refusal = { status: 400, body: { code: 'INVALID_REQUEST' } };
    expect(await call('GET', `/api_keys/${foreign}`)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect(await call('PATCH', '/api_keys', { body })).toMatchObject(refusal);
    expect(await call('DELETE', `/api_keys?id=${foreign}`)).toMatchObject(refusal);
    const [row] = await platform.query('SELECT description, revoked_at FROM api_keys WHERE id = $1', [foreign]);
    expect(row).toEqual({ description: '', revoked_at: null });
  });

  it.each(['', '?id=', '?id=nonsense', `?id=${id}&id=${id}`, `?id=${id}`, '?id=%00'])(
    'DELETE /api_keys%s is refused',
    async (query) => {
      const answer = await call('DELETE', `/api_keys${query}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    },
  );

  it('ends up deleted after a concurrent change and deletion', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id: both, apiKey } = await create();
      const [change, removal] = await Promise.all([
        call('PATCH', '/api_keys', { body: { id: both, description: 'changed' } }),
        call('DELETE', `/api_keys?id=${both}`),
      ]);
      expect(removal.status).toBe(200);
      expect([200, 400]).toContain(change.status);
      const [row] = await platform.query('SELECT description FROM api_keys WHERE id = $1', [both]);
      expect(row).toEqual({ description: change.status === 200 ? 'changed' : 'a key' });
      expect((await chat(apiKey)).status).toBe(401);
    }
  });
});

describe('a key for a wallet', () => {
  async function request(signer = wallet): Promise<Record<string, string>> {
    const { body } = await call<{ token: string }>('GET', '/api_keys/generate_web3_key', { key: null });
    const { token } = body.data;
    return {
      apiKeyType: 'INFERENCE',
      address: signer.address,
      token,
      signature: await signer.signMessage({ message: token }),
    };
  }

  const mint = (body: unknown) => call('POST', '/api_keys/generate_web3_key', { body, key: null });

  it('is created for a signature and works', async () => {
    const body = await request();
    const made = await mint(body);
    expect(made).toMatchObject({
      status: 200,
      body: { success: true, data: { description: 'Web3 API Key', apiKeyType: 'INFERENCE', expiresAt: null } },
    });
    // This account has no balance yet, but the key is recognized.
    expect(await chat(made.body.data.apiKey ?? '')).toMatchObject({ status: 402 });
    expect(await mint(body)).toMatchObject({ status: 400, body: { error: expect.stringContaining('has been used') } });
  });

  it('is rejected with a reason', async () => {
    const other = privateKeyToAccount(generatePrivateKey());
    const body = await request();
    const reasonOf = async (changed: object) => {
      const answer = await mint({ ...body, ...changed });
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
      return String(answer.body.error);
    };
    expect(await reasonOf({ address: '0x1' })).toContain('not an Ethereum address');
    expect(await reasonOf({ token: 'abc' })).toContain('well-formed JWT');
    expect(await reasonOf({ address: other.address })).toContain('not that of this address');
    expect(await reasonOf(await request(other))).toContain('chain did not answer');
    expect(await reasonOf({ signature: undefined })).toContain('signature is required');
    expect(await reasonOf({ description: 'x'.repeat(65) })).toContain('description');
  });

  it('requires no key and ignores any', async () => {
    const answer = await call('GET', '/api_keys/generate_web3_key', { key: `slk_${randomUUID()}` });
    expect(answer.status).toBe(200);
  });
});
