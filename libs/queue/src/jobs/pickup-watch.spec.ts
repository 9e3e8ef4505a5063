import { describe, expect, it } from 'vitest';
import { type PickupCheck, type PickupDecision, PickupWatch } from './pickup-watch.js';

const timeoutMs = 1_000;
const everyMs = 200;

/** Checks every 200 ms. Each step states its deviations from: three jobs wait, there is capacity, none was taken. */
function watched(steps: Partial<PickupCheck>[], watch = new PickupWatch(timeoutMs)): PickupDecision[] {
  return steps.map((step, index) =>
    watch.check({ atMs: index * everyMs, waiting: 3, hasCapacity: true, pickups: 0, ...step }),
  );
}

const silent = (looks: number, step: Partial<PickupCheck> = {}) => Array.from({ length: looks }, () => step);

describe('PickupWatch', () => {
  it('requests new connections once jobs have waited too long in front of a free consumer', () => {
    expect(watched(silent(6))).toEqual([...silent(5).map(() => 'listening'), 'restart']);
  });

  it('does not mistake an unavailable store, an empty queue or a full consumer for silence', () => {
    const reasons: Partial<PickupCheck>[] = [{ waiting: null }, { waiting: 0 }, { hasCapacity: false }];
    for (const reason of reasons) {
      const decisions = watched([...silent(4), reason, ...silent(4), reason, ...silent(4)]);
      expect(new Set(decisions)).toEqual(new Set(['listening']));
    }
  });

  it('restarts with each job that is taken, however many wait', () => {
    const decisions = watched(Array.from({ length: 40 }, (_, index) => ({ pickups: Math.floor(index / 3) })));
    expect(new Set(decisions)).toEqual(new Set(['listening']));
  });

  it('calls it stalled when two restarts did not help, until a job is taken after all', () => {
    const watch = new PickupWatch(timeoutMs);
    const decisions = watched([...silent(18), { waiting: 0 }, { pickups: 1 }], watch);
    expect(decisions.filter((decision) => decision === 'restart')).toHaveLength(2);
    expect(decisions.slice(15)).toEqual(['stalled', 'stalled', 'stalled', 'stalled', 'listening']);
    expect(watch.isStalled).toBe(false);
  });

  it('calls it stalled as well when each restart helps for one job alone', () => {
    const steps = Array.from({ length: 24 }, (_, index) => ({ pickups: Math.floor(index / 7) }));
    const decisions = watched(steps);
    expect(decisions.filter((decision) => decision === 'restart')).toHaveLength(2);
    expect(decisions).toContain('stalled');
  });

  it('forgets restarts that are long ago', () => {
    const hour = { atMs: 3_600_000, pickups: 1 };
    const later = silent(6).map((_, index) => ({ atMs: hour.atMs + (index + 1) * everyMs, pickups: 1 }));
    const decisions = watched([...silent(11), hour, ...later]);
    expect(decisions.filter((decision) => decision === 'restart')).toHaveLength(3);
    expect(decisions).not.toContain('stalled');
  });

  it('does not mistake a blocked process for a stalled consumer', () => {
    const watch = new PickupWatch(timeoutMs);
    expect(watched([{}, { atMs: 60_000 }], watch)).toEqual(['listening', 'listening']);
  });
});
