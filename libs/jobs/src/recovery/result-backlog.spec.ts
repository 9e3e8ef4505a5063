import { describe, expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import type { PendingResults } from '#queue';
import { ResultBacklog, type ResultBacklogOptions } from './result-backlog.js';

/** Observes a backlog, with checks after `waitedMs` of what is pending then. */
function watched({ sweepIntervalMs = 3_000, ...options }: ResultBacklogOptions & { sweepIntervalMs?: number } = {}) {
  let nowMs = 0;
  let pending: PendingResults = { postponed: [], underWay: [] };
  const said: unknown[] = [];
  const say = (...line: unknown[]) => void said.push(line);
  const flow = new ResultBacklog(
    { results: { pending: async () => pending } },
    { sweepIntervalMs },
    { warn: say, info: say } as unknown as Logger,
    {
      slowMs: 1_000,
      maxWaitMs: 60_000,
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      ...options,
    },
  );
  const look = (waitedMs: number, seen: Partial<PendingResults>): Promise<boolean> => {
    nowMs += waitedMs;
    pending = { postponed: [], underWay: [], ...seen };
    return flow.flows();
  };
  return { flow, look, said };
}

const watching = () => watched().look;

describe('ResultBacklog', () => {
  it('waits for a result that is to be retried, from the first check of a process on', async () => {
    const look = watching();
    expect(await look(0, { postponed: ['1'] })).toBe(false);
    expect(await look(3_000, {})).toBe(true);
  });

  it('waits for one that stays in progress, and not for those that come and go', async () => {
    const look = watching();
    expect(await look(0, { underWay: ['1', '2'] })).toBe(true);
    expect(await look(3_000, { underWay: ['3', '4'] })).toBe(true);
    expect(await look(3_000, { underWay: ['4', '5'] })).toBe(false);
    expect(await look(3_000, { underWay: ['6'] })).toBe(true);
  });

  it('recognizes one that was postponed and is being retried', async () => {
    const look = watching();
    await look(0, { postponed: ['1'] });
    expect(await look(3_000, { underWay: ['1'] })).toBe(false);
  });

  it('abandons one that can never be written, and no other', async () => {
    const look = watching();
    for (let second = 0; second < 60; second += 3) expect(await look(3_000, { postponed: ['1'] })).toBe(false);
    expect(await look(3_000, { postponed: ['1'] })).toBe(true);
    expect(await look(3_000, { postponed: ['1', '2'] })).toBe(false);
  });

  it('does not count time in which no check was possible', async () => {
    const look = watching();
    await look(0, { postponed: ['1'] });
    expect(await look(3_600_000, { postponed: ['1'] })).toBe(false);
  });

  it('pauses no longer than its maximum, whichever results they are, until results flow again', async () => {
    const { look } = watched({ longestPauseMs: 120_000 });
    let passes = 0;
    const next = () => look(3_000, { underWay: [`${passes}`, `${passes + 1}`] });
    const answers: boolean[] = [];
    for (; passes < 50; passes += 1) answers.push(await next());
    // The first check sees the result for the first time, and the second check is the first that waits.
    expect(answers.indexOf(true, 1)).toBe(41);
    expect(answers.slice(41)).not.toContain(false);
    expect(await look(3_000, {})).toBe(true);
    await look(3_000, { postponed: ['new'] });
    expect(await look(3_000, { postponed: ['new'] })).toBe(false);
  });

  it('counts only time in which it could check towards its maximum pause', async () => {
    const { look } = watched({ longestPauseMs: 120_000 });
    expect(await look(0, { postponed: ['1'] })).toBe(false);
    expect(await look(3_600_000, { postponed: ['2'] })).toBe(false);
  });

  it('counts the pauses of infrequent sweeps, when told their interval', async () => {
    const { look } = watched({ sweepIntervalMs: 20_000 });
    expect(await look(0, { postponed: ['1'] })).toBe(false);
    expect(await look(60_000, { postponed: ['1'] })).toBe(true);
  });

  it('logs once that it waits, how much and for how long, and once that it waits no more', async () => {
    const { flow, look, said } = watched();
    for (let times = 0; times < 14; times += 1) await look(3_000, { postponed: ['1'], underWay: ['2'] });
    expect(said).toEqual([[{ waiting: 2, oldestMs: 33_000, pausedMs: 33_000 }, expect.stringContaining('wait')]]);
    expect({ waiting: flow.waiting, stuckMs: flow.stuckMs }).toEqual({ waiting: 2, stuckMs: 39_000 });
    await look(3_000, {});
    await look(3_000, {});
    expect(said.slice(1)).toEqual([[{ pausedMs: 42_000 }, expect.stringContaining('again')]]);
    expect({ waiting: flow.waiting, stuckMs: flow.stuckMs }).toEqual({ waiting: 0, stuckMs: 0 });
  });

  it('logs nothing for a short wait', async () => {
    const { look, said } = watched();
    for (let times = 0; times < 5; times += 1) await look(3_000, { postponed: ['1'] });
    await look(3_000, {});
    expect(said).toEqual([]);
  });
});
