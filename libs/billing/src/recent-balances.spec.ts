import { describe, expect, it } from 'vitest';
import { testDouble } from '#test/test-double';
import type { AccountBalance } from './ledger.repository.js';
import { RecentBalances } from './recent-balances.js';

function setUp() {
  let nowMs = 0;
  const reads: string[] = [];
  const state = { usdNano: 5n, away: false };
  const balances = new RecentBalances(
    testDouble({
      balance: (accountId) => {
        reads.push(accountId);
        if (state.away) return Promise.reject(new Error('away'));
        return Promise.resolve({ diemNano: 1n, bundledNano: 2n, usdNano: state.usdNano } as AccountBalance);
      },
    }),
    { nowMs: () => nowMs, monotonicMs: () => nowMs },
  );
  return { balances, reads, state, pass: (ms: number) => (nowMs += ms) };
}

describe('RecentBalances', () => {
  it('reads an account once in 5 s, however many ask, and counts bundled credits as USD', async () => {
    const { balances, reads, state, pass } = setUp();
    const first = await Promise.all([balances.of('a'), balances.of('a'), balances.of('b')]);
    expect(first).toEqual(Array.from({ length: 3 }, () => ({ diemNano: 1n, usdNano: 7n })));
    state.usdNano = 6n;
    pass(4_999);
    expect(await balances.of('a')).toEqual({ diemNano: 1n, usdNano: 7n });
    pass(1);
    expect(await balances.of('a')).toEqual({ diemNano: 1n, usdNano: 8n });
    expect(reads).toEqual(['a', 'b', 'a']);
  });

  it('returns null while the database is unavailable', async () => {
    const { balances, state } = setUp();
    state.away = true;
    expect(await balances.of('a')).toBeNull();
  });
});
