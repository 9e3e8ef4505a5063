import { describe, expect, it } from 'vitest';
import { limitHeaders, type MeasuredWindow } from './limit-headers.js';
import type { WindowState } from './store/limit-store.js';

const nowMs = 1_795_000_000_400;
const state: WindowState = {
  requests: 3,
  tokens: 700,
  lacking: null,
  waitMs: 0,
  requestsResetMs: 12_300,
  tokensResetMs: 12_300,
};
const window = (
  changes: Partial<Omit<MeasuredWindow, 'state'>> & { state?: Partial<WindowState> },
): MeasuredWindow => ({
  scope: 'user',
  limits: { requests: 10, tokens: 1_000 },
  ...changes,
  state: { ...state, ...changes.state },
});
const plain = { limits: { requests: 10, tokens: null } };

describe('limitHeaders', () => {
  it('resets requests at a unix time and tokens in seconds', () => {
    expect(limitHeaders([window({})], nowMs, null)).toEqual({
      'x-ratelimit-type': 'user',
      'x-ratelimit-limit-requests': '10',
      'x-ratelimit-remaining-requests': '7',
      'x-ratelimit-reset-requests': '1795000013',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '300',
      'x-ratelimit-reset-tokens': '13',
    });
  });

  it('omits tokens when none are counted', () => {
    expect(Object.keys(limitHeaders([window(plain)], nowMs, null)).filter((name) => name.includes('tokens'))).toEqual(
      [],
    );
  });

  it('describe the window with the least capacity, requests and tokens separately', () => {
    const account = window({});
    const key = window({ scope: 'api_key', limits: { requests: 4, tokens: null } });
    const all = window({ scope: 'global', limits: { requests: null, tokens: 800 } });
    expect(limitHeaders([account, key, all], nowMs, null)).toMatchObject({
      'x-ratelimit-type': 'api_key',
      'x-ratelimit-limit-requests': '4',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-limit-tokens': '800',
      'x-ratelimit-remaining-tokens': '100',
    });
  });

  it('say after a refusal when the same request fits, and whose limit it was', () => {
    const account = window({});
    const all = window({ scope: 'global', state: { requests: 12, lacking: 'requests', waitMs: 1_200 } });
    expect(limitHeaders([account, all], nowMs, all)).toMatchObject({
      'x-ratelimit-type': 'global',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1795000002',
      'x-ratelimit-reset-tokens': '2',
    });
  });
});
