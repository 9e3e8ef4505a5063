import { describe, expect, it } from 'vitest';
import { testDouble } from '#test/test-double';
import { FailureGuard } from './failure-guard.js';
import { LimitConfig } from './limits/limit-config.js';
import type { LimitOverride } from './limits/limit-override.js';
import type { LoggedRefusal } from './log/logged-refusal.js';
import { RefusalLog } from './log/refusal-log.js';
import { RateLimiter } from './rate-limiter.js';
import type { LimitStore, TakeAnswer, TakeDemand, WindowState } from './store/limit-store.js';
import { advanceMs, windowOf } from './store/limit-window.js';
import { TokenCorrector } from './token-reservation.js';

const none = { requests: null, tokens: null };
const empty: WindowState = { requests: 0, tokens: 0, lacking: null, waitMs: 0, requestsResetMs: 0, tokensResetMs: 0 };
const caller = { accountId: 'a', apiKeyId: 'k', tier: 'default' } as const;
const small = { modelId: 'm', limitClass: 'S' } as const;
const nowMs = 1_795_000_000_000;
const slot = nowMs / 500;

/** A limiter over a scripted store. */
function setUp(options: { overrides?: LimitOverride[]; enabled?: boolean } = {}) {
  const demands: TakeDemand[] = [];
  const corrections: unknown[] = [];
  const refused: string[] = [];
  const lines: LoggedRefusal[] = [];
  const told: { states: Partial<WindowState>[]; blockedMs: number } = { states: [], blockedMs: 0 };
  const store: LimitStore = {
    take: (demand) => {
      demands.push(demand);
      const states = demand.windows.map((_window, index) => ({ ...empty, ...told.states[index] }));
      const granted = told.blockedMs === 0 && states.every(({ lacking }) => lacking === null);
      const answer: TakeAnswer = { granted, blockedMs: told.blockedMs, nowMs, slot, states };
      return Promise.resolve(told.blockedMs > 0 ? { ...answer, states: [] } : answer);
    },
    correct: (...call) => Promise.resolve(void corrections.push(call)),
    fail: () => Promise.resolve({ blockedMs: 30_000, began: true, nowMs }),
    open: () => Promise.reject(new Error('the limiter opens no requests')),
    renew: () => Promise.resolve(),
    release: () => Promise.resolve(),
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const log = new RefusalLog(
    testDouble({ add: (some) => Promise.resolve(void lines.push(...some)) }),
    testDouble({ warn: () => undefined }),
  );
  const standing = { plain: { requests: 1_000, tokens: null }, key: none, installation: none };
  const limiter = new RateLimiter(
    store,
    new LimitConfig(() => Promise.resolve(options.overrides ?? []), standing),
    new FailureGuard(store, { max: 20, window: windowOf(30_000), blockMs: 30_000 }),
    new TokenCorrector(store, testDouble({ warn: () => undefined })),
    log,
    testDouble({ rateLimits: options.enabled ?? true }),
    testDouble({ count: (reason) => void refused.push(reason) }),
  );
  const written = async () => {
    await log.flush();
    return lines;
  };
  return { limiter, demands, corrections, refused, told, written };
}

describe('RateLimiter', () => {
  it('never names a wait longer than the window, although a slot leaves later than that', async () => {
    const { limiter, told } = setUp();
    const granted = await limiter.admitModel(caller, { ...small, tokens: { min: 5, max: 5 } });
    expect(granted.headers['x-ratelimit-reset-tokens']).toBe('60');
    const late = { requestsResetMs: 60_500, tokensResetMs: 60_500 };
    told.states = [{ ...late, lacking: 'tokens', waitMs: 60_500 }];
    const refused = await limiter.admitModel(caller, { ...small, tokens: { min: 5, max: 5 } });
    expect(refused.refusal?.retry).toEqual({ afterSeconds: 60 });
    expect(refused.headers['x-ratelimit-reset-tokens']).toBe('60');
  });

  it('asks for the windows that have a limit, in one order, and no others', async () => {
    const plain = setUp();
    await plain.limiter.admitModel(caller, { ...small, tokens: { min: 1, max: 1 } });
    expect(plain.demands[0]?.windows).toEqual([{ key: 'model:a:m', requests: 75, tokens: 750_000 }]);
    const full = setUp({
      overrides: [
        { accountId: null, apiKeyId: null, target: '*', requests: null, tokens: 9 },
        { accountId: null, apiKeyId: 'k', target: '*', requests: 8, tokens: null },
      ],
    });
    await full.limiter.admitPlain(caller);
    expect(full.demands[0]).toMatchObject({
      guard: 'failures:key:k',
      tokens: 0,
      windows: [
        { key: 'account:a', requests: 1_000, tokens: null },
        { key: 'key:k', requests: 8, tokens: null },
        // It uses no tokens, and passes where more than the limit was used.
        { key: 'all', requests: null, tokens: null },
      ],
    });
    await full.limiter.admitModel(caller, { ...small, tokens: { min: 4, max: 4 } });
    expect(full.demands[1]?.windows).toContainEqual({ key: 'all', requests: null, tokens: 9 });
  });

  it('reports what is left including this request', async () => {
    const { limiter, told } = setUp();
    told.states = [{ requests: 4, tokens: 1_000, requestsResetMs: 2_000 }];
    const decision = await limiter.admitModel(caller, { ...small, tokens: { min: 500, max: 500 } });
    expect(decision.headers).toMatchObject({
      'x-ratelimit-remaining-requests': '70',
      'x-ratelimit-reset-requests': '1795000002',
      'x-ratelimit-remaining-tokens': '748500',
      // The first tokens of the window: they leave with their slot.
      'x-ratelimit-reset-tokens': '60',
    });
    expect(decision).toMatchObject({ refusal: null, tokens: 500, reservation: { slot, tokens: 500 } });
  });

  it('reduces a request with a free output limit to a minute of the limit', async () => {
    const { limiter, demands } = setUp();
    const held = await limiter.admitModel(caller, { ...small, tokens: { min: 600, max: 900_000 } });
    expect([held.tokens, demands[0]?.tokens]).toEqual([750_000, 750_000]);
  });

  it('refuses a request for good that no minute could take', async () => {
    const { limiter, told, refused, written } = setUp();
    told.states = [{ lacking: 'tokens', waitMs: 60_000 }];
    const { refusal, headers } = await limiter.admitModel(caller, {
      ...small,
      tokens: { min: 750_001, max: 900_000 },
    });
    expect(refusal).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retry: 'never' });
    expect(refusal?.message).toBe(
      'This request may use 750,001 tokens, and this account may use no more than 750,000 tokens per minute for the ' +
        'model m. Send less, or ask for less output.',
    );
    expect(headers['x-ratelimit-type']).toBe('user');
    expect(refused).toEqual(['user_tokens']);
    expect(await written()).toEqual([{ ...caller, modelId: 'm', type: 'TPM', atMs: nowMs }]);
  });

  it('remembers what no request of the key could pass, and asks no store about it', async () => {
    const { limiter, told, refused } = setUp({
      overrides: [{ accountId: null, apiKeyId: 'k', target: '*', requests: 5, tokens: null }],
    });
    expect(await limiter.blocked(caller)).toBeNull();
    told.states = [{}, { requests: 5, lacking: 'requests', waitMs: 60_000 }];
    await limiter.admitModel(caller, small);
    const decision = await limiter.blocked(caller);
    expect(decision?.refusal).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retry: { afterSeconds: 5 } });
    expect(decision?.headers).toMatchObject({ 'x-ratelimit-type': 'api_key' });
    expect(refused).toEqual(['api_key_requests', 'api_key_requests']);
    expect(await limiter.blocked({ ...caller, apiKeyId: 'other' })).toBeNull();
  });

  it('remembers nothing of one model, nor of tokens: the next request may be another', async () => {
    const { limiter, told } = setUp({
      overrides: [{ accountId: null, apiKeyId: 'k', target: '*', requests: 5, tokens: 9 }],
    });
    told.states = [{ requests: 75, lacking: 'requests', waitMs: 60_000 }];
    await limiter.admitModel(caller, small);
    told.states = [{}, { tokens: 9, lacking: 'tokens', waitMs: 60_000 }];
    await limiter.admitModel(caller, { ...small, tokens: { min: 4, max: 4 } });
    expect(await limiter.blocked(caller)).toBeNull();
  });

  it('forgets a refusal when its wait is over', async () => {
    const { limiter, told } = setUp({
      overrides: [{ accountId: null, apiKeyId: 'k', target: '*', requests: 5, tokens: null }],
    });
    told.states = [{}, { requests: 5, lacking: 'requests', waitMs: 20 }];
    await limiter.admitModel(caller, small);
    await expect.poll(() => limiter.blocked(caller)).toBeNull();
  });

  it('names the limit with the longest wait, and how long that is', async () => {
    const { limiter, told, refused, written } = setUp({
      overrides: [{ accountId: null, apiKeyId: 'k', target: '*', requests: 5, tokens: null }],
    });
    told.states = [
      { requests: 75, lacking: 'requests', waitMs: 1_000 },
      { requests: 5, lacking: 'requests', waitMs: 9_500 },
    ];
    const { refusal, headers, reservation } = await limiter.admitModel(caller, small);
    expect(refusal?.message).toBe('Rate limit reached: this API key may use 5 requests per minute. Try again in 10 s.');
    expect(refusal?.retry).toEqual({ afterSeconds: 10 });
    expect(headers).toMatchObject({
      'x-ratelimit-type': 'api_key',
      'x-ratelimit-limit-requests': '5',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1795000010',
    });
    expect([reservation, refused]).toEqual([null, ['api_key_requests']]);
    expect(await written()).toMatchObject([{ type: 'RPM', modelId: 'm' }]);
  });

  it('takes requests ahead in one step, from a window that is longer by the time in which they may be used', async () => {
    const { limiter, demands, corrections } = setUp();
    const rpc = { modelId: 'crypto-rpc', limitClass: 'rpc' } as const;
    const ahead = await limiter.admitAhead(caller, rpc, { requests: 8, isTrial: true });
    expect(demands).toMatchObject([
      {
        windows: [{ key: 'advance:a:crypto-rpc', requests: null, tokens: 100 }],
        tokens: 8,
        window: { lengthMs: 60_000 + advanceMs, slotMs: 500 },
      },
    ]);
    expect([ahead.requests, ahead.headers(5)['x-ratelimit-remaining-requests']]).toEqual([8, '97']);
    await ahead.settle(3);
    expect(corrections).toEqual([[['advance:a:crypto-rpc'], slot, -5]]);
  });

  it('logs the refusal of requests ahead only if nothing smaller is asked for', async () => {
    const { limiter, told, refused, written } = setUp();
    told.states = [{ tokens: 100, lacking: 'tokens', waitMs: 20_000 }];
    const rpc = { modelId: 'crypto-rpc', limitClass: 'rpc' } as const;
    const trial = await limiter.admitAhead(caller, rpc, { requests: 8, isTrial: true });
    expect([trial.requests, trial.decision.refusal?.code, await written()]).toEqual([0, 'RATE_LIMIT_EXCEEDED', []]);
    const last = await limiter.admitAhead(caller, rpc, { requests: 1, isTrial: false });
    expect(last.decision.refusal?.message).toContain('100 requests per minute. Try again in 20 s');
    expect(last.decision.headers).toMatchObject({
      'x-ratelimit-limit-requests': '100',
      'x-ratelimit-remaining-requests': '0',
    });
    expect([refused, await written()]).toMatchObject([['user_requests'], [{ type: 'RPM', modelId: 'crypto-rpc' }]]);
  });

  it('takes one request at a time where the key has a limit, whose window counts all kinds of requests', async () => {
    const override = { accountId: null, apiKeyId: 'k', target: '*', requests: 50, tokens: null } as LimitOverride;
    const { limiter, demands } = setUp({ overrides: [override] });
    const rpc = { modelId: 'crypto-rpc', limitClass: 'rpc' } as const;
    expect((await limiter.admitAhead(caller, rpc, { requests: 8, isTrial: true })).requests).toBe(1);
    expect(demands[0]?.windows.map(({ key }) => key)).toEqual(['model:a:crypto-rpc', 'key:k']);
  });

  it('refunds what a request reserved that never became a job', async () => {
    const { limiter, corrections } = setUp();
    const { reservation } = await limiter.admitModel(caller, { ...small, tokens: { min: 90, max: 90 } });
    reservation?.release();
    await Promise.resolve();
    expect(corrections).toEqual([[['model:a:m', 'key:k', 'all'], slot, -90]]);
  });

  it('blocks callers whose requests fail too often, from memory here and through the store elsewhere', async () => {
    const { limiter, told, refused, written, demands } = setUp();
    expect(await limiter.blocked(caller)).toBeNull();
    await limiter.failed(caller, '192.0.2.1');
    expect(await limiter.blocked(caller)).toMatchObject({
      refusal: { code: 'RATE_LIMIT_EXCEEDED', retry: { afterSeconds: 30 } },
      headers: { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1795000030' },
    });
    expect(await limiter.blocked({ ...caller, apiKeyId: 'other' })).toBeNull();
    expect(await written()).toEqual([{ ...caller, modelId: '', type: 'FAILED_REQUESTS', atMs: nowMs }]);
    const elsewhere = setUp();
    elsewhere.told.blockedMs = 12_000;
    const decision = await elsewhere.limiter.admitModel(caller, small);
    expect(decision.refusal?.retry).toEqual({ afterSeconds: 12 });
    expect(await elsewhere.limiter.blocked(caller)).not.toBeNull();
    expect([refused, demands, told.blockedMs]).toEqual([['failures'], [], 0]);
  });

  it('blocks unauthenticated clients by their address, and logs nothing, since nobody could read it', async () => {
    const { limiter, written } = setUp();
    await limiter.failed(null, '192.0.2.1');
    expect(limiter.blockedAddress('192.0.2.1')).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect(limiter.blockedAddress('192.0.2.2')).toBeNull();
    expect(await written()).toEqual([]);
  });

  it('counts and refuses nothing when it is switched off', async () => {
    const { limiter, demands } = setUp({ enabled: false });
    const decision = await limiter.admitModel(caller, { ...small, tokens: { min: 1, max: 2_000_000 } });
    expect(decision).toEqual({ headers: {}, refusal: null, tokens: 2_000_000, reservation: null });
    await limiter.failed(caller, '192.0.2.1');
    expect(await limiter.blocked(caller)).toBeNull();
    expect(demands).toEqual([]);
  });
});
