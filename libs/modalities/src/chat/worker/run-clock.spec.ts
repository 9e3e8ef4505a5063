import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RunEvent } from '#inference/host';
import { RunClock } from './run-clock.js';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

const ready: RunEvent = { type: 'prompt-ready', promptTokens: 4, cachedTokens: 0 };
const delta: RunEvent = { type: 'text-delta', index: 0, text: '', tokens: 1, logprobs: null };

it('measures until the first token, which may have no text yet, and until the end', () => {
  const clock = new RunClock();
  vi.advanceTimersByTime(20);
  clock.see([ready]);
  vi.advanceTimersByTime(30);
  clock.see([delta]);
  vi.advanceTimersByTime(50);
  clock.see([delta]);
  expect(clock.report()).toEqual({ executionMs: 100, firstTokenMs: 50 });
});

it('begins again with another host, and goes on counting the wait', () => {
  const clock = new RunClock();
  vi.advanceTimersByTime(20);
  clock.see([delta]);
  clock.startAgain();
  expect(clock.report()).toEqual({ executionMs: 20 });
  vi.advanceTimersByTime(20);
  clock.see([delta]);
  expect(clock.report()).toEqual({ executionMs: 40, firstTokenMs: 40 });
});
