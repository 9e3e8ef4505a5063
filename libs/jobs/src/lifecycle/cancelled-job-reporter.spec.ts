import { beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import type { JobResult, QueueTransport } from '#queue';
import { CancelledJobReporter } from './cancelled-job-reporter.js';

const logger = { warn() {}, error() {} } as unknown as Logger;
const result = { requestId: 'r', attempt: 1 } as JobResult;

describe('cancelled jobs', () => {
  let told: string[];
  let cancelled: string[];
  /** How many attempts of the queue fail. */
  let outages: number;
  let nowMs: number;
  let cancelledJobs: CancelledJobReporter;

  beforeEach(() => {
    told = [];
    cancelled = [];
    outages = 0;
    nowMs = 0;
    const report = ({ requestId }: JobResult) => {
      outages -= 1;
      return outages >= 0 ? Promise.reject(new Error('away')) : Promise.resolve(void told.push(requestId));
    };
    const cancel = (requestId: string) => Promise.resolve(void cancelled.push(requestId));
    cancelledJobs = new CancelledJobReporter({
      transport: { results: { report }, cancelBus: { cancel } } as unknown as QueueTransport,
      logger,
      // Times of day are large numbers, unlike those of the monotonic clock.
      clock: { nowMs: () => 1_000_000 + nowMs, monotonicMs: () => nowMs },
      pause: async (milliseconds) => void (nowMs += milliseconds),
    });
  });

  it('are reported once, without notifying workers, when the queue accepts the result', async () => {
    await cancelledJobs.tell(result, 1_060_000);
    expect({ told, cancelled }).toEqual({ told: ['r'], cancelled: [] });
  });

  it('are reported however late, and to workers at every attempt, the last one included', async () => {
    outages = 12;
    await cancelledJobs.tell(result, 1_060_000);
    expect(told).toEqual([]);
    await expect.poll(() => cancelled).toHaveLength(13);
    expect(told).toEqual(['r']);
  });

  it('are left to the sweep at their deadline', async () => {
    outages = Infinity;
    await cancelledJobs.tell(result, 1_060_000);
    await expect.poll(() => nowMs).toBeGreaterThanOrEqual(60_000);
    const tries = cancelled.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(cancelled).toHaveLength(tries);
  });
});
