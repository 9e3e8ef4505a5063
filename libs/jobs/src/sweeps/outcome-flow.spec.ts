import { describe, expect, it } from 'vitest';
import type { PendingOutcomes } from '#queue';
import { OutcomeFlow } from './outcome-flow.js';

/** A flow that looks after `waitedMs` at what is pending then. */
function watching() {
  let nowMs = 0;
  let pending: PendingOutcomes = { postponed: [], underWay: [] };
  const flow = new OutcomeFlow(
    { pending: async () => pending },
    { slowMs: 1_000, patienceMs: 60_000, clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } },
  );
  return (waitedMs: number, seen: Partial<PendingOutcomes>): Promise<boolean> => {
    nowMs += waitedMs;
    pending = { postponed: [], underWay: [], ...seen };
    return flow.flows();
  };
}

describe('OutcomeFlow', () => {
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
});
