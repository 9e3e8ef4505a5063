import { describe, expect, it } from 'vitest';
import type { Clock } from '#common';
import { DeleteClosedJobsSweep } from './delete-closed-jobs.sweep.js';

const oneDayMs = 86_400_000;

/** Jobs that are old enough, and a clock that only the deleting moves. */
function storeOf(rows: number, msPerBatch = 0) {
  const calls: { ageMs: number; mediaAgeMs: number; rows: number }[] = [];
  const state = { rows, nowMs: 0 };
  const clock: Clock = { nowMs: () => state.nowMs, monotonicMs: () => state.nowMs };
  const deleteClosed = (demand: (typeof calls)[number]): Promise<number> => {
    calls.push(demand);
    state.nowMs += msPerBatch;
    const count = Math.min(demand.rows, state.rows);
    state.rows -= count;
    return Promise.resolve(count);
  };
  return { calls, clock, jobs: { deleteClosed }, state };
}

describe('the sweep of closed jobs', () => {
  it('deletes all that are old enough, in batches', async () => {
    const { jobs, clock, calls } = storeOf(1_200);
    const sweep = new DeleteClosedJobsSweep(jobs, { days: 2, storageLifetimeMs: oneDayMs, clock });
    expect(await sweep.run()).toBe(1_200);
    expect(calls).toHaveLength(3);
    expect(calls[0]).toMatchObject({ ageMs: 2 * oneDayMs, mediaAgeMs: 2 * oneDayMs });
  });

  it('keeps async jobs for as long as their results, and a day', async () => {
    const { jobs, clock, calls } = storeOf(0);
    await new DeleteClosedJobsSweep(jobs, { days: 1, storageLifetimeMs: 9 * oneDayMs, clock }).run();
    expect(calls[0]).toMatchObject({ ageMs: oneDayMs, mediaAgeMs: 10 * oneDayMs });
  });

  it('stops after its time and goes on in the next run', async () => {
    const { jobs, clock, calls } = storeOf(100_000, 300);
    const sweep = new DeleteClosedJobsSweep(jobs, { days: 1, storageLifetimeMs: 0, clock });
    expect(await sweep.run()).toBe(2_000);
    expect(await sweep.run()).toBe(2_000);
    expect(calls).toHaveLength(8);
  });

  it('looks once a minute while there is nothing to delete', async () => {
    const { jobs, clock, calls, state } = storeOf(0);
    const sweep = new DeleteClosedJobsSweep(jobs, { days: 1, storageLifetimeMs: 0, clock });
    await sweep.run();
    await sweep.run();
    expect(calls).toHaveLength(1);
    state.nowMs = 60_000;
    await sweep.run();
    expect(calls).toHaveLength(2);
  });
});
