import { describe, expect, it } from 'vitest';
import type { PendingResults } from '#queue';
import { ResultBacklog, type ResultBacklogOptions } from './result-backlog.js';

/** A flow, and looks after `waitedMs` at what is pending then. */
function watched(options: ResultBacklogOptions = {}) {
  let nowMs = 0;
  let pending: PendingResults = { postponed: [], underWay: [] };
  const said: unknown[] = [];
  const say = (...line: unknown[]) => void said.push(line);
  const flow = new ResultBacklog(
    { pending: async () => pending },
    {
      slowMs: 1_000,
      patienceMs: 60_000,
      logger: { warn: say, info: say } as unknown as ResultBacklogOptions['logger'],
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
  it('waits for an outcome that is to be tried again, from the first look of a process on', async () => {
    const look = watching();
    expect(await look(0, { postponed: ['1'] })).toBe(false);
    expect(await look(3_000, {})).toBe(true);
  });

  it('waits for one that stays under way, and not for those that come and go', async () => {
    const look = watching();
    expect(await look(0, { underWay: ['1', '2'] })).toBe(true);
    expect(await look(3_000, { underWay: ['3', '4'] })).toBe(true);
    expect(await look(3_000, { underWay: ['4', '5'] })).toBe(false);
    expect(await look(3_000, { underWay: ['6'] })).toBe(true);
  });

  it('knows one again that was postponed and is being tried', async () => {
    const look = watching();
    await look(0, { postponed: ['1'] });
    expect(await look(3_000, { underWay: ['1'] })).toBe(false);
  });

  it('gives up on one that can never be written, and on no other', async () => {
    const look = watching();
    for (let second = 0; second < 60; second += 3) expect(await look(3_000, { postponed: ['1'] })).toBe(false);
    expect(await look(3_000, { postponed: ['1'] })).toBe(true);
    expect(await look(3_000, { postponed: ['1', '2'] })).toBe(false);
  });

  it('does not take the time for patience in which nobody could look', async () => {
    const look = watching();
    await look(0, { postponed: ['1'] });
    expect(await look(3_600_000, { postponed: ['1'] })).toBe(false);
  });

  it('pauses no longer than its longest pause, whichever they are, and then until they have flowed', async () => {
    const { look } = watched({ longestPauseMs: 120_000 });
    let passes = 0;
    const next = () => look(3_000, { underWay: [`${passes}`, `${passes + 1}`] });
    const answers: boolean[] = [];
    for (; passes < 50; passes += 1) answers.push(await next());
    // The first one is seen for the first time, the second look is the first that waits.
    expect(answers.indexOf(true, 1)).toBe(41);
    expect(answers.slice(41)).not.toContain(false);
    expect(await look(3_000, {})).toBe(true);
    await look(3_000, { postponed: ['new'] });
    expect(await look(3_000, { postponed: ['new'] })).toBe(false);
  });

  it('counts for its longest pause only time in which it could look', async () => {
    const { look } = watched({ longestPauseMs: 120_000 });
    expect(await look(0, { postponed: ['1'] })).toBe(false);
    expect(await look(3_600_000, { postponed: ['2'] })).toBe(false);
  });

  it('counts the pauses of sweeps that come rarely, when told how rarely', async () => {
    const { look } = watched({ longestGapMs: 60_000 });
    expect(await look(0, { postponed: ['1'] })).toBe(false);
    expect(await look(60_000, { postponed: ['1'] })).toBe(true);
  });

  it('says once that it waits, how much and for how long, and once that it waits no more', async () => {
    const { flow, look, said } = watched();
    for (let times = 0; times < 14; times += 1) await look(3_000, { postponed: ['1'], underWay: ['2'] });
    expect(said).toEqual([[{ waiting: 2, oldestMs: 33_000, pausedMs: 33_000 }, expect.stringContaining('wait')]]);
    expect({ waiting: flow.waiting, stuckMs: flow.stuckMs }).toEqual({ waiting: 2, stuckMs: 39_000 });
    await look(3_000, {});
    await look(3_000, {});
    expect(said.slice(1)).toEqual([[{ pausedMs: 42_000 }, expect.stringContaining('again')]]);
    expect({ waiting: flow.waiting, stuckMs: flow.stuckMs }).toEqual({ waiting: 0, stuckMs: 0 });
  });

  it('says nothing of a moment', async () => {
    const { look, said } = watched();
    for (let times = 0; times < 5; times += 1) await look(3_000, { postponed: ['1'] });
    await look(3_000, {});
    expect(said).toEqual([]);
  });
});
