import { afterEach, describe, expect, it, vi } from 'vitest';
import { testDouble } from '#test/test-double';
import { LimitSnapshot } from './limits/limit-snapshot.js';
import type { LimitOverride } from './limits/limit-override.js';
import { leaseMs, OpenRequests } from './open-requests.js';
import type { Lease, LeaseDemand } from './store/limit-store.js';

const none = { requests: null, tokens: null };
const caller = { accountId: 'a', apiKeyId: 'k', tier: 'default' } as const;

/** Open requests over a store in memory. */
function setUp(overrides: Partial<LimitOverride>[] = [], { enabled = true } = {}) {
  const open = new Map<string, Set<string>>();
  const demands: LeaseDemand[] = [];
  const renewed: Lease[][] = [];
  const refused: string[] = [];
  const store = {
    open: async (demand: LeaseDemand) => {
      demands.push(demand);
      const counts = demand.keys.map((key) => open.get(key)?.size ?? 0);
      const granted = counts.every((count, index) => count < (demand.limits[index] ?? 0));
      if (granted) for (const key of demand.keys) open.set(key, (open.get(key) ?? new Set()).add(demand.leaseId));
      return { granted, open: counts };
    },
    renew: async (leases: readonly Lease[]) => void renewed.push([...leases]),
    release: async ({ leaseId, keys }: Lease) => keys.forEach((key) => open.get(key)?.delete(leaseId)),
  };
  const standing = { plain: none, key: none, installation: none, concurrent: { default: 2, partner: 10, key: null } };
  const rows = overrides.map((row) => ({ accountId: null, apiKeyId: null, target: '*', ...none, ...row }));
  const limitConfig = { page: async () => new LimitSnapshot(rows, standing) };
  const requests = new OpenRequests(
    testDouble(store),
    testDouble(limitConfig),
    testDouble({ rateLimits: enabled }),
    testDouble({ count: (reason) => void refused.push(reason) }),
  );
  return { requests, demands, renewed, refused, open };
}

describe('OpenRequests', () => {
  afterEach(() => void vi.useRealTimers());

  it('refuses one more than the limit with headers and a code of its own, until one leaves', async () => {
    const { requests, refused } = setUp();
    const first = await requests.enter(caller, 'r1');
    expect(first.headers).toEqual({ 'x-ratelimit-limit-concurrent': '2', 'x-ratelimit-remaining-concurrent': '1' });
    expect((await requests.enter(caller, 'r2')).headers['x-ratelimit-remaining-concurrent']).toBe('0');
    const third = await requests.enter(caller, 'r3');
    expect(third.refusal).toMatchObject({ code: 'CONCURRENCY_LIMIT_EXCEEDED' });
    expect(third.refusal?.message).toContain('2 requests open at once');
    expect(third.headers).toMatchObject({ 'x-ratelimit-remaining-concurrent': '0', 'x-ratelimit-type': 'user' });
    expect(refused).toEqual(['user_concurrent']);
    first.leave();
    first.leave();
    expect((await requests.enter(caller, 'r4')).refusal).toBeNull();
  });

  it('applies the limit of the key, of the tier, and what the operator has set', async () => {
    const { requests } = setUp([
      { apiKeyId: 'k', concurrent: 1 },
      { accountId: 'b', concurrent: 5 },
    ]);
    await requests.enter(caller, 'r1');
    const second = await requests.enter(caller, 'r2');
    expect(second.refusal?.message).toContain('This API key may have 1');
    const limitOf = async (other: Parameters<OpenRequests['enter']>[0]) =>
      (await requests.enter(other, `${other.accountId} ${other.tier}`)).headers['x-ratelimit-limit-concurrent'];
    expect(await limitOf({ accountId: 'b', apiKeyId: 'x', tier: 'default' })).toBe('5');
    expect(await limitOf({ accountId: 'c', apiKeyId: 'x', tier: 'partner' })).toBe('10');
  });

  it('says that no retry helps where nothing may run', async () => {
    const { requests } = setUp([{ accountId: 'a', concurrent: 0 }]);
    expect((await requests.enter(caller, 'r1')).refusal?.retry).toBe('never');
  });

  it('renews what is open, and nothing that has left', async () => {
    vi.useFakeTimers();
    const { requests, renewed } = setUp();
    await requests.enter(caller, 'r1');
    (await requests.enter(caller, 'r2')).leave();
    await vi.advanceTimersByTimeAsync(leaseMs / 3);
    expect(renewed).toEqual([[{ leaseId: 'r1', keys: ['account:a'] }]]);
    await requests.close();
    await vi.advanceTimersByTimeAsync(leaseMs);
    expect(renewed).toHaveLength(1);
  });

  it('asks no store where no limit holds', async () => {
    const { requests, demands } = setUp([], { enabled: false });
    expect(await requests.enter(caller, 'r1')).toMatchObject({ refusal: null, headers: {} });
    expect(demands).toEqual([]);
  });
});
