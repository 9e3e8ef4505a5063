import { beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import type { QueueTransport } from '#queue';
import type { JobCloser } from '../lifecycle/job-closer.js';
import type { ClosedJob, JobClosing } from '../lifecycle/job-states.js';
import type { JobsRepository, OpenJob } from '../lifecycle/jobs.repository.js';
import { AbandonedAdmissions } from './abandoned-admissions.js';

const logger = { info() {}, warn() {}, error() {} } as unknown as Logger;
const job = { requestId: 'r', modality: 'chat', modelId: 'm', deadlineMs: 60_000 };

describe('abandoned admissions', () => {
  /** Attempts of the open rows. */
  let rows: Map<string, number>;
  let closed: string[];
  let removed: string[];
  let cancelled: string[];
  /** Attempts of queue and bus that fail. */
  let queueOutages: number;
  let busOutages: number;
  /** Attempts of the database that fail. */
  let outages: number;
  let pauses: number[];
  let nowMs: number;
  let onPause: (milliseconds: number) => void;
  let abandonedAdmissions: AbandonedAdmissions;

  const answer = <Result>(result: Result): Promise<Result> => {
    if (outages === 0) return Promise.resolve(result);
    outages -= 1;
    return Promise.reject(new Error('the database is away'));
  };
  const close = ({ requestId, attempt }: JobClosing) => {
    if (outages === 0 && rows.get(requestId) === attempt) {
      rows.delete(requestId);
      closed.push(`${requestId}/${attempt}`);
      return answer({} as ClosedJob);
    }
    return answer(null);
  };
  const find = (requestId: string) => {
    const attempt = rows.get(requestId);
    return answer(attempt === undefined ? null : ({ state: 'queued', attempt } as OpenJob));
  };

  beforeEach(() => {
    rows = new Map([['r', 1]]);
    closed = [];
    removed = [];
    cancelled = [];
    outages = 0;
    queueOutages = 0;
    busOutages = 0;
    pauses = [];
    nowMs = 0;
    onPause = () => undefined;
    abandonedAdmissions = new AbandonedAdmissions(
      { find } as unknown as JobsRepository,
      { close } as unknown as JobCloser,
      {
        producer: {
          remove: async (_modality: string, _model: string, id: string) => {
            queueOutages -= 1;
            if (queueOutages >= 0) throw new Error('the queue is away');
            removed.push(id);
            return false;
          },
        },
        cancelBus: {
          cancel: async (id: string) => {
            busOutages -= 1;
            if (busOutages >= 0) throw new Error('the bus is away');
            cancelled.push(id);
          },
        },
      } as unknown as QueueTransport,
      logger,
      {
        clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
        pause: async (milliseconds) => {
          pauses.push(milliseconds);
          nowMs += milliseconds;
          onPause(milliseconds);
        },
      },
    );
  });

  const settled = async () => {
    await expect.poll(() => rows.size).toBe(0);
  };

  it('leave row and queue at once', async () => {
    await abandonedAdmissions.close(job);
    expect({ closed, removed, pauses }).toEqual({ closed: ['r/1'], removed: ['r'], pauses: [] });
  });

  it('are cancelled over the bus, for the worker that has them or will get them', async () => {
    await abandonedAdmissions.close(job);
    expect(cancelled).toEqual(['r']);
    abandonedAdmissions.closeLater({ ...job, requestId: 'later' });
    await expect
      .poll(() => [removed, cancelled])
      .toEqual([
        ['r', 'later'],
        ['r', 'later'],
      ]);
  });

  it('are removed from the queue, and cancelled, however late queue and bus return', async () => {
    [queueOutages, busOutages] = [4, 2];
    await abandonedAdmissions.close(job);
    expect({ closed, removed, cancelled }).toEqual({ closed: ['r/1'], removed: [], cancelled: [] });
    await expect.poll(() => removed).toEqual(['r']);
    expect(cancelled).toContain('r');
    expect({ closed, pauses }).toEqual({ closed: ['r/1'], pauses: [250, 500, 1_000] });
  });

  it('are removed from the queue again after their row, which a sweep may have re-enqueued before', async () => {
    outages = 1;
    await abandonedAdmissions.close(job);
    await expect.poll(() => removed).toEqual(['r', 'r']);
    expect(closed).toEqual(['r/1']);
  });

  it('have all their rows closed while the queue is unavailable', async () => {
    queueOutages = Infinity;
    const many = Array.from({ length: 200 }, (_, position) => `r${position}`);
    rows = new Map(many.map((requestId) => [requestId, 1]));
    let openAtPause = -1;
    onPause = () => void (openAtPause = openAtPause === -1 ? rows.size : openAtPause);
    for (const requestId of many) abandonedAdmissions.closeLater({ ...job, requestId });
    await settled();
    await expect.poll(() => openAtPause).toBe(0);
    queueOutages = 0;
  });

  it('close their row when the database is back, after increasing pauses', async () => {
    outages = 5;
    await abandonedAdmissions.close(job);
    expect(closed).toEqual([]);
    await settled();
    expect({ closed, pauses }).toEqual({ closed: ['r/1'], pauses: [250, 500, 1_000, 2_000] });
  });

  it('close their row even when a sweep has re-enqueued it meanwhile', async () => {
    rows.set('r', 3);
    abandonedAdmissions.closeLater(job);
    await settled();
    expect(closed).toEqual(['r/3']);
  });

  it('need no row', async () => {
    rows.clear();
    await abandonedAdmissions.close(job);
    abandonedAdmissions.closeLater(job);
    await expect.poll(() => removed).toEqual(['r', 'r']);
    expect(closed).toEqual([]);
  });

  it('are looked up again while the server may still be committing them, and then no more', async () => {
    rows.clear();
    onPause = (milliseconds) => void (milliseconds === 10_000 && rows.set('r', 1));
    abandonedAdmissions.closeLater({ ...job, isUncertain: true });
    await expect.poll(() => closed).toEqual(['r/1']);
    expect(pauses).toEqual([5_000, 10_000]);
    onPause = () => undefined;
    abandonedAdmissions.closeLater({ ...job, isUncertain: true });
    await expect.poll(() => pauses.slice(2)).toEqual([5_000, 10_000, 15_000, 30_000]);
  });

  it('are left to the sweep after their deadline', async () => {
    outages = Infinity;
    abandonedAdmissions.closeLater(job);
    await expect.poll(() => nowMs).toBeGreaterThanOrEqual(job.deadlineMs);
    const tries = pauses.length;
    outages = 0;
    abandonedAdmissions.closeLater({ ...job, requestId: 'other' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([rows.has('r'), pauses.length]).toEqual([true, tries]);
  });
});
