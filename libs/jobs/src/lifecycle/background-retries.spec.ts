import { beforeEach, describe, expect, it } from 'vitest';
import { type AttemptResult, BackgroundRetries, type BackgroundRetriesOptions } from './background-retries.js';

interface Task {
  requestId: string;
  untilMs: number;
}

describe('BackgroundRetries', () => {
  let attempts: string[];
  let pauses: number[];
  let givenUp: string[];
  let nowMs: number;

  beforeEach(() => {
    attempts = [];
    pauses = [];
    givenUp = [];
    nowMs = 0;
  });

  function createRetries(results: AttemptResult[], options: Partial<BackgroundRetriesOptions<Task>> = {}) {
    return new BackgroundRetries<Task>({
      attempt: async ({ requestId }) => {
        attempts.push(requestId);
        return results.shift() ?? 'done';
      },
      giveUp: ({ requestId }) => void givenUp.push(requestId),
      pauseMs: (failures) => failures * 100,
      maxTasks: 2,
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      pause: async (milliseconds) => {
        pauses.push(milliseconds);
        nowMs += milliseconds;
      },
      ...options,
    });
  }

  it('retries after growing pauses until the task is done', async () => {
    createRetries(['failed', 'failed', 'done']).add({ requestId: 'a', untilMs: 60_000 });
    await expect.poll(() => attempts).toEqual(['a', 'a', 'a']);
    expect({ pauses, givenUp }).toEqual({ pauses: [100, 200], givenUp: [] });
  });

  it('attempts again at once, and forgets its failures, where an attempt progressed', async () => {
    const results: AttemptResult[] = ['failed', 'progressed', 'failed'];
    createRetries(results).add({ requestId: 'a', untilMs: 60_000 });
    await expect.poll(() => attempts).toHaveLength(4);
    expect(pauses).toEqual([100, 100]);
  });

  it('gives up past the deadline, and at once where it has no room', async () => {
    const retries = createRetries(Array.from({ length: 100 }, () => 'failed' as const));
    for (const requestId of ['a', 'b', 'c']) retries.add({ requestId, untilMs: 1_000 });
    expect(givenUp).toEqual(['c']);
    await expect.poll(() => givenUp).toEqual(['c', 'b', 'a']);
    expect(pauses).toEqual([100, 200, 300, 400, 500]);
  });
});
