import { beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import type { Outcome, QueueTransport } from '#queue';
import { TakenBackJobs } from './taken-back-jobs.js';

const logger = { warn() {}, error() {} } as unknown as Logger;
const outcome = { requestId: 'r', attempt: 1 } as Outcome;

describe('jobs that were taken back', () => {
  let told: string[];
  let cancelled: string[];
  /** Tries of the queue that fail. */
  let outages: number;
  let nowMs: number;
  let takenBack: TakenBackJobs;

  beforeEach(() => {
    told = [];
    cancelled = [];
    outages = 0;
    nowMs = 0;
    const report = ({ requestId }: Outcome) => {
      outages -= 1;
      return outages >= 0 ? Promise.reject(new Error('away')) : Promise.resolve(void told.push(requestId));
    };
    const cancel = (requestId: string) => Promise.resolve(void cancelled.push(requestId));
    takenBack = new TakenBackJobs({
      transport: { outcomes: { report }, cancelBus: { cancel } } as unknown as QueueTransport,
      logger,
      // Unlike those of the monotonic clock, times of the day are large.
      clock: { nowMs: () => 1_000_000 + nowMs, monotonicMs: () => nowMs },
      pause: async (milliseconds) => void (nowMs += milliseconds),
    });
  });

  it('are told once, and no worker hears of it, where the queue takes it', async () => {
    await takenBack.tell(outcome, 1_060_000);
    expect({ told, cancelled }).toEqual({ told: ['r'], cancelled: [] });
  });

  it('are told however late, and workers at every try, the last one too', async () => {
    outages = 12;
    await takenBack.tell(outcome, 1_060_000);
    expect(told).toEqual([]);
    await expect.poll(() => cancelled).toHaveLength(13);
    expect(told).toEqual(['r']);
  });

  it('are left to the sweep at their deadline', async () => {
    outages = Infinity;
    await takenBack.tell(outcome, 1_060_000);
    await expect.poll(() => nowMs).toBeGreaterThanOrEqual(60_000);
    const tries = cancelled.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(cancelled).toHaveLength(tries);
  });
});
