import OpenAI, { RateLimitError } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { type LimitOverride, LimitOverridesRepository } from '#rate-limit';
import { transportsFor } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* Rate limits as clients see them, over three API replicas, with the windows in Redis and in PostgreSQL. */

interface Tenant {
  accountId: string;
  keys: { id: string; key: string }[];
}

/** Tenants of the tests and their limits, set before any request so that no replica has cached other limits. */
const settings = {
  three: [{ target: 'model:tiny-llama', requests: 3 }],
  burst: [{ target: 'XS', requests: 25 }],
  tokens: [{ tokens: 20_000 }],
  narrow: [{ tokens: 300 }],
  poor: [{ tokens: 1_000 }],
  keyed: [{ apiKeyId: 'the first', requests: 2 }],
  shown: [{ apiKeyId: 'the first', requests: 7 }],
  failing: [],
  lost: [],
  patient: [],
  plain: [],
  busy: [],
  bystander: [],
  reader: [
    { target: 'XS', tokens: 1_234 },
    { target: 'other', requests: 6 },
  ],
} satisfies Record<string, Partial<LimitOverride>[]>;
type TenantName = keyof typeof settings;

const blockMs = 6_000;
const context = { model: 'tiny-llama', max_completion_tokens: 20 };

describe.each(transportsFor('redis'))('rate limits with windows in %s', (transport) => {
  let platform: Platform;
  let prisma: PrismaService;
  const tenants = new Map<TenantName, Tenant>();

  beforeAll(async () => {
    platform = await startPlatform({
      transport,
      replicas: { api: 3 },
      limits: 'contract',
      env: { SLUICE_ABUSE_BLOCK_MS: String(blockMs), SLUICE_PLAIN_RPM: '400' },
    });
    prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 2 });
    for (const name of Object.keys(settings) as TenantName[]) tenants.set(name, await openTenant(settings[name]));
  });

  afterAll(async () => {
    await prisma.$disconnect();
    await platform.stop();
  });

  afterEach(async () => {
    await platform.closedJobs(30_000);
    await expectInvariant(platform);
  });

  /** An account with two keys. */
  async function openTenant(limits: Partial<LimitOverride>[]): Promise<Tenant> {
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const { id: accountId } = await accounts.createAccount('tenant');
    await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano: nanosPerUsd });
    const made = [
      await accounts.createKey({ accountId, kind: 'INFERENCE' }),
      await accounts.createKey({ accountId, kind: 'INFERENCE' }),
    ];
    const keys = made.map(({ key, record }) => ({ key, id: record.id }));
    const overrides = new LimitOverridesRepository(prisma);
    for (const limit of limits) {
      const ofKey = { accountId: null, apiKeyId: keys[0]?.id ?? '' };
      const subject = limit.apiKeyId === undefined ? { accountId, apiKeyId: null } : ofKey;
      await overrides.set({ target: '*', requests: null, tokens: null, ...limit, ...subject });
    }
    return { accountId, keys };
  }

  function tenant(name: TenantName): Tenant {
    const found = tenants.get(name);
    if (found === undefined) throw new Error(`there is no tenant ${name}`);
    return found;
  }

  const keyOf = ({ keys }: Tenant, index = 0): string => keys[index]?.key ?? '';

  function post(key: string | null, body: object, replica = 0): Promise<Response> {
    return fetch(`${platform.origins[replica % 3] ?? ''}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(body),
    });
  }

  const get = (path: string, key: string, replica = 0): Promise<Response> =>
    fetch(`${platform.origins[replica] ?? ''}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });

  const chat = (text: string, more: object = {}) => ({
    ...context,
    messages: [{ role: 'user', content: text }],
    ...more,
  });

  const header = (response: Response, name: string): number => Number(response.headers.get(`x-ratelimit-${name}`));

  async function logOf(owner: Tenant, path = '/api_keys/rate_limits/log'): Promise<{ rateLimitType: string }[]> {
    const answer = (await (await get(path, keyOf(owner, owner.keys.length - 1))).json()) as {
      object: string;
      data: { rateLimitType: string }[];
    };
    expect(answer.object).toBe('list');
    return answer.data;
  }

  it('rejects requests beyond the limit with headers that the official client understands', async () => {
    const owner = tenant('three');
    const client = new OpenAI({ apiKey: keyOf(owner), baseURL: platform.baseUrl, maxRetries: 0 });
    const ask = () =>
      client.chat.completions.create({ ...context, messages: [{ role: 'user', content: 'Hi [[tokens=2]]' }] });
    for (const remaining of [2, 1, 0]) {
      const { response } = await ask().withResponse();
      expect(response.headers.get('x-ratelimit-type')).toBe('user');
      expect([header(response, 'limit-requests'), header(response, 'remaining-requests')]).toEqual([3, remaining]);
      expect(header(response, 'limit-tokens')).toBe(1_000_000);
      expect(header(response, 'reset-tokens')).toBeLessThanOrEqual(61);
      const ahead = header(response, 'reset-requests') - Date.now() / 1000;
      expect(ahead).toBeGreaterThan(0);
      expect(ahead).toBeLessThan(63);
    }
    const error = await ask().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(RateLimitError);
    const { status, code, type, headers, message } = error as RateLimitError;
    expect([status, code, type]).toEqual([429, 'RATE_LIMIT_EXCEEDED', 'rate_limit_error']);
    expect(message).toContain('3 requests per minute for the model tiny-llama');
    const wait = Number(headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(61);
    expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(headers.get('x-should-retry')).toBeNull();
    expect(Math.abs(Number(headers.get('x-ratelimit-reset-requests')) - Date.now() / 1000 - wait)).toBeLessThan(3);
    expect(await logOf(owner)).toEqual([
      {
        apiKeyId: owner.keys[0]?.id,
        modelId: 'tiny-llama',
        rateLimitTier: 'default',
        rateLimitType: 'RPM',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      },
    ]);
    expect(await logOf(owner, '/api_keys/rate_limit_logs')).toHaveLength(1);
  });

  it('admits exactly the limit when three replicas get requests concurrently', async () => {
    const owner = tenant('burst');
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => post(keyOf(owner), chat('[[tokens=1]]'), index)),
    );
    const counts = [200, 429].map((status) => answers.filter((answer) => answer.status === status).length);
    expect(counts).toEqual([25, 15]);
  });

  it('reserves the worst-case tokens and corrects them when the job closes', async () => {
    const limit = 20_000;
    const owner = tenant('tokens');
    const first = await post(keyOf(owner), chat('One [[tokens=3]]'));
    const reserved = limit - header(first, 'remaining-tokens');
    const { usage } = (await first.json()) as { usage: { total_tokens: number } };
    expect(reserved).toBeGreaterThan(usage.total_tokens);
    await platform.closedJobs();
    // The process that closes the row corrects the window afterwards.
    let used = 0;
    const reservedByNext = async () => {
      const next = await post(keyOf(owner), chat('One [[tokens=3]]'), 1);
      await next.text();
      await platform.closedJobs();
      used += usage.total_tokens;
      return limit - header(next, 'remaining-tokens') - used;
    };
    await expect.poll(reservedByNext, { timeout: 10_000, interval: 300 }).toBe(reserved);
  });

  it('marks requests that can never fit, and bounds requests without max_tokens by what is available', async () => {
    const owner = tenant('narrow');
    const refused = await post(keyOf(owner), chat('Hello', { max_completion_tokens: 200 }));
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await refused.text()).toContain('no more than 300 tokens per minute');
    const held = await post(keyOf(owner), { ...chat('[[tokens=190]]'), max_completion_tokens: undefined });
    const { choices } = (await held.json()) as { choices: { finish_reason: string }[] };
    expect([held.status, choices[0]?.finish_reason]).toEqual([200, 'length']);
    expect(header(held, 'remaining-tokens')).toBe(0);
    expect((await logOf(owner)).map(({ rateLimitType }) => rateLimitType)).toEqual(['TPM']);
  });

  it('refunds the tokens of a request that could not be paid', async () => {
    const owner = tenant('poor');
    await createLedger(prisma).credit('revoke', {
      accountId: owner.accountId,
      currency: 'USD',
      amountNano: nanosPerUsd,
    });
    for (let index = 0; index < 6; index += 1) {
      const answer = await post(keyOf(owner), chat('Hello', { max_completion_tokens: 200 }), index);
      expect(answer.status).toBe(402);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  it('applies a separate limit to one key', async () => {
    const owner = tenant('keyed');
    const statuses: number[] = [];
    let last: Response | null = null;
    for (let index = 0; index < 3; index += 1) {
      last = await post(keyOf(owner), chat('[[tokens=1]]'), index);
      statuses.push(last.status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect(last?.headers.get('x-ratelimit-type')).toBe('api_key');
    expect((await post(keyOf(owner, 1), chat('[[tokens=1]]'))).status).toBe(200);
  });

  it('blocks a key after more than 20 failures, on every replica, for the announced time', async () => {
    const owner = tenant('failing');
    const good = chat('[[tokens=1]]');
    for (let index = 0; index < 21; index += 1) {
      const answer = await post(keyOf(owner), { ...good, model: 'no-such-model' }, index);
      expect([index, answer.status]).toEqual([index, 404]);
    }
    for (const replica of [0, 1, 2]) {
      const answer = await post(keyOf(owner), good, replica);
      expect(answer.status).toBe(429);
      expect(await answer.text()).toContain('more than 20 within 30 s block all requests for 6 s');
      expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(blockMs / 1000);
      expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    }
    expect((await get('/models', keyOf(owner))).status).toBe(429);
    expect((await post(keyOf(owner, 1), good)).status).toBe(200);
    // The replica that saw the last failure records it within a quarter of a second.
    const logged = async () => (await logOf(owner)).map(({ rateLimitType }) => rateLimitType);
    await expect.poll(logged, { timeout: 5_000 }).toEqual(['FAILED_REQUESTS']);
    await new Promise((resolve) => setTimeout(resolve, blockMs));
    expect((await post(keyOf(owner), good)).status).toBe(200);
  });

  it('counts failures on unknown routes for the key they carry, and none on removed endpoints', async () => {
    const owner = tenant('lost');
    for (let index = 0; index < 25; index += 1) {
      expect((await get('/billing/usage', index % 2 === 0 ? keyOf(owner) : 'slk_wrong')).status).toBe(410);
    }
    for (let index = 0; index < 21; index += 1) {
      const answer = await get('/models/some-id', keyOf(owner), index % 3);
      expect([index, answer.status, header(answer, 'limit-requests')]).toEqual([index, 404, 400]);
    }
    expect((await get('/models', keyOf(owner))).status).toBe(429);
    expect((await get('/billing/usage', keyOf(owner))).status).toBe(410);
    expect((await fetch(`${platform.baseUrl}/models`)).status).toBe(200);
  });

  it('blocks unauthenticated clients by address, and no client with a key', async () => {
    const owner = tenant('patient');
    for (let index = 0; index < 21; index += 1) {
      expect((await post(index % 2 === 0 ? null : `slk_wrong${index}`, chat('Hi'))).status).toBe(401);
    }
    for (const key of [null, 'slk_wrong']) {
      const answer = await post(key, chat('Hi'));
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^[1-6]$/)]);
    }
    expect((await fetch(`${platform.baseUrl}/models`)).status).toBe(429);
    expect((await post(keyOf(owner), chat('[[tokens=1]]'))).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, blockMs));
    expect((await fetch(`${platform.baseUrl}/models`)).status).toBe(200);
  });

  it('shows the remaining limits on every response to a key', async () => {
    const owner = tenant('plain');
    const answers = [
      await get('/models', keyOf(owner)),
      await get('/api_keys/rate_limits', keyOf(owner)),
      await get('/api_keys', keyOf(owner)),
      await post(keyOf(owner), { model: 'tiny-llama' }),
      await post(keyOf(owner), chat('[[tokens=1]]')),
      await post(keyOf(owner), chat('[[tokens=1]]', { stream: true })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403, 400, 200, 200]);
    for (const answer of answers) {
      expect(header(answer, 'limit-requests')).toBeGreaterThan(0);
      expect(header(answer, 'remaining-requests')).toBeLessThan(header(answer, 'limit-requests'));
      expect(header(answer, 'reset-requests')).toBeGreaterThan(Date.now() / 1000 - 2);
      expect(answer.headers.get('x-ratelimit-type')).toBe('user');
      expect(answer.headers.get('x-service-balance-usd')).toMatch(/^(1|0\.9\d+)/);
      expect(answer.headers.get('x-service-balance-diem')).toBe('0.000000');
      await answer.text();
    }
    expect(answers.map((answer) => answer.headers.has('x-ratelimit-limit-tokens'))).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
    ]);
    const unauthenticatedResponse = await fetch(`${platform.baseUrl}/models`);
    expect([...unauthenticatedResponse.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  });

  it('shows a caller its limits, and rejects more model lists than a minute allows', async () => {
    const owner = tenant('reader');
    const { data } = (await (await get('/api_keys/rate_limits', keyOf(owner))).json()) as { data: object };
    expect(data).toEqual({
      accessPermitted: true,
      apiTier: { id: 'default', isCharged: true },
      balances: { USD: 1, DIEM: 0 },
      keyExpiration: null,
      nextEpochBegins: new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString(),
      rateLimits: [
        {
          apiModelId: 'tiny-llama',
          rateLimits: [
            { amount: 500, type: 'RPM' },
            { amount: 1_234, type: 'TPM' },
          ],
        },
      ],
    });
    const keyed = (await (await get('/api_keys/rate_limits', keyOf(tenant('shown')))).json()) as {
      data: { rateLimits: object[] };
    };
    expect(keyed.data.rateLimits).toMatchObject([{ rateLimits: [{ amount: 7, type: 'RPM' }, { type: 'TPM' }] }]);
    const statuses = await Promise.all(
      Array.from({ length: 9 }, async (_, index) => (await get('/models', keyOf(owner), index % 3)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect((await post(keyOf(owner), chat('[[tokens=1]]'))).status).toBe(200);
  });

  // Runs last, because it limits all other requests.
  it('applies the global limit on every replica', async () => {
    const overrides = new LimitOverridesRepository(prisma);
    const everybody = { accountId: null, apiKeyId: null };
    const ask = (name: TenantName, replica: number) => post(keyOf(tenant(name)), chat('[[tokens=1]]'), replica);
    await overrides.set({ ...everybody, target: '*', requests: 3, tokens: null });
    try {
      for (const replica of [0, 1, 2]) {
        // A replica applies a new limit within 5 s.
        await expect.poll(async () => (await ask('busy', replica)).status, { timeout: 15_000 }).toBe(429);
        const refused = await ask('bystander', replica);
        expect([refused.status, refused.headers.get('x-ratelimit-type')]).toEqual([429, 'global']);
        expect(await refused.text()).toContain('the whole service may use 3 requests per minute');
      }
    } finally {
      await overrides.remove(everybody, '*');
    }
    await expect.poll(async () => (await ask('bystander', 0)).status, { timeout: 15_000 }).toBe(200);
  });
});
