import { describe, expect, it } from 'vitest';
import { FailureGuard } from './failure-guard.js';
import type { FailAnswer, LimitStore } from './store/limit-store.js';
import { windowOf } from './store/limit-window.js';

const rule = { max: 20, window: windowOf(30_000), blockMs: 30_000 };

function setUp(answers: FailAnswer[], over: { rule?: null } = {}) {
  let nowMs = 0;
  const calls: string[] = [];
  const store = {
    fail: (guard: string) => {
      calls.push(guard);
      const answer = answers.shift();
      return answer === undefined ? Promise.reject(new Error('away')) : Promise.resolve(answer);
    },
  } as unknown as LimitStore;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const guard = new FailureGuard(store, over.rule === null ? null : rule, clock);
  return { guard, calls, pass: (ms: number) => (nowMs += ms) };
}

describe('FailureGuard', () => {
  it('remembers a block for as long as it lasts, on a monotonic clock', async () => {
    const { guard, pass } = setUp([
      { blockedMs: 0, began: false, nowMs: 1_000 },
      { blockedMs: 30_000, began: true, nowMs: 2_000 },
    ]);
    expect(await guard.failed('g')).toBeNull();
    expect(guard.block('g')).toBeNull();
    expect(await guard.failed('g')).toEqual({ beganAtMs: 2_000 });
    pass(29_999);
    expect(guard.block('g')).toEqual({ leftMs: 1, endsAtMs: 32_000 });
    expect(guard.block('other')).toBeNull();
    pass(1);
    expect(guard.block('g')).toBeNull();
  });

  it('states the threshold and the wait', () => {
    const { message, code, retry } = setUp([]).guard.refusal(11_200);
    expect(code).toBe('RATE_LIMIT_EXCEEDED');
    expect(message).toBe(
      'Too many failed requests: more than 20 within 30 s block all requests for 30 s. Try again in 12 s.',
    );
    expect(retry).toEqual({ afterSeconds: 12 });
  });

  it('counts nothing while the store is unavailable, nor without a rule', async () => {
    expect(await setUp([]).guard.failed('g')).toBeNull();
    const { guard, calls } = setUp([], { rule: null });
    expect(await guard.failed('g')).toBeNull();
    expect(calls).toEqual([]);
  });
});
