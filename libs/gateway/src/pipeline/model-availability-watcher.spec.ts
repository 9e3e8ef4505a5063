import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ServedModelState, Heartbeat, ClusterMembership } from '#queue';
import { ModelAvailabilityWatcher } from './model-availability-watcher.js';

let heartbeats: Heartbeat[];
let notify: (heartbeats: Heartbeat[]) => void;

function holding(...modelIds: string[]): Heartbeat {
  return inState('ready', ...modelIds);
}

function inState(state: ServedModelState['state'], ...modelIds: string[]): Heartbeat {
  const models = modelIds.map((modelId) => ({
    modelId,
    modalities: ['chat'],
    state,
    slots: 1,
    running: 0,
    provider: 'cpu',
  }));
  return { processId: 'w', role: 'worker', replyAddress: null, models, alive: true };
}

function membership(): ClusterMembership {
  return {
    join: async () => undefined,
    announce: async () => undefined,
    lagMs: null,
    lostWorkers: new Map(),
    list: () => heartbeats,
    onChange: (listener) => {
      notify = listener;
      return () => undefined;
    },
  };
}

function become(...now: Heartbeat[]): void {
  heartbeats = now;
  notify(heartbeats);
}

beforeEach(() => {
  vi.useFakeTimers();
  heartbeats = [holding('a', 'b')];
});

afterEach(() => {
  vi.useRealTimers();
});

describe('ModelAvailabilityWatcher', () => {
  it('aborts the requests of a model without a replica, and no others', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const [a, b] = [watch.watch('a'), watch.watch('b')];
    become(holding('b'));
    vi.advanceTimersByTime(5_000);
    expect([a.lost.aborted, b.lost.aborted]).toEqual([true, false]);
  });

  it('keeps the requests of a replica that comes back', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const { lost } = watch.watch('a');
    become();
    vi.advanceTimersByTime(500);
    become(holding('a'));
    vi.advanceTimersByTime(5_000);
    expect(lost.aborted).toBe(false);
  });

  it('aborts a request whose model lost its replica before the watch began', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    heartbeats = [holding('b')];
    const { lost } = watch.watch('a');
    vi.advanceTimersByTime(5_000);
    expect(lost.aborted).toBe(true);
  });

  it('uses the longer wait it is given and restarts it when a replica was there meanwhile', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const { lost } = watch.watch('a', 30_000);
    become();
    vi.advanceTimersByTime(20_000);
    become(holding('a'));
    become();
    vi.advanceTimersByTime(20_000);
    expect(lost.aborted).toBe(false);
    vi.advanceTimersByTime(11_000);
    expect(lost.aborted).toBe(true);
  });

  it('waits as long for a model whose host does not restart as its jobs wait for the host', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const [waiting, running] = [watch.watch('a', 30_000), watch.watch('a')];
    become(inState('loading', 'a'));
    vi.advanceTimersByTime(29_000);
    expect([waiting.lost.aborted, running.lost.aborted]).toEqual([false, false]);
    become(inState('loading', 'a'));
    vi.advanceTimersByTime(2_000);
    expect([waiting.lost.aborted, running.lost.aborted]).toEqual([true, true]);
  });

  it('waits without limit for a model that loads anew and for one whose host is back', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const [a, b] = [watch.watch('a', 30_000), watch.watch('b', 30_000)];
    become(inState('draining', 'a'), { ...inState('loading', 'b'), processId: 'w2' });
    become(inState('loading', 'a'), { ...inState('loading', 'b'), processId: 'w2' });
    vi.advanceTimersByTime(60_000);
    expect([a.lost.aborted, b.lost.aborted]).toEqual([false, false]);
    become(holding('a', 'b'));
    become(inState('loading', 'a', 'b'));
    vi.advanceTimersByTime(20_000);
    become(holding('a', 'b'));
    vi.advanceTimersByTime(60_000);
    expect([a.lost.aborted, b.lost.aborted]).toEqual([false, false]);
  });

  it('stops waiting for a model that a live worker has unloaded', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const { lost } = watch.watch('a', 30_000);
    become(holding('b'));
    vi.advanceTimersByTime(3_000);
    expect(lost.aborted).toBe(true);
  });

  it('ignores requests whose watch was released', () => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: 30_000 });
    const { lost, release } = watch.watch('a');
    release();
    become();
    vi.advanceTimersByTime(5_000);
    expect(lost.aborted).toBe(false);
  });
});

describe('a model without a ready replica', () => {
  const loading = (...modelIds: string[]) => inState('loading', ...modelIds);
  const open = (returnMs = 30_000) => {
    const watch = new ModelAvailabilityWatcher({ membership: membership() }, { modelWaitMs: returnMs });
    // The heartbeats that made it known.
    notify(heartbeats);
    return watch;
  };
  const other = (...modelIds: string[]): Heartbeat => ({ ...holding(...modelIds), processId: 'other' });

  it('may return for a while after its last worker said goodbye or was lost', () => {
    const watch = open();
    become(other('b'));
    expect([watch.mayReturn('a'), watch.mayReturn('never-served')]).toEqual([true, false]);
    vi.advanceTimersByTime(29_000);
    expect(watch.mayReturn('a')).toBe(true);
    vi.advanceTimersByTime(2_000);
    expect(watch.mayReturn('a')).toBe(false);
  });

  it('is missed for as long as the worker that had it is lost, and not once it was unloaded', () => {
    const watch = open();
    become(other('b'));
    vi.advanceTimersByTime(600_000);
    expect([watch.isMissed('a'), watch.isMissed('never-served')]).toEqual([true, false]);
    become(holding('b'));
    expect(watch.isMissed('a')).toBe(false);
  });

  it('may return while its worker drains, and while another loads it', () => {
    const watch = open();
    become(inState('draining', 'a'));
    expect(watch.mayReturn('a')).toBe(true);
    become(loading('new'));
    vi.advanceTimersByTime(60_000);
    expect([watch.mayReturn('new'), watch.mayReturn('a')]).toEqual([true, false]);
    expect([watch.stateOf('new'), watch.stateOf('a')]).toEqual(['loading', 'absent']);
  });

  it('does not return when a live worker unloaded it, or with a wait of 0', () => {
    const watch = open();
    become(holding('b'));
    expect(watch.mayReturn('a')).toBe(false);
    const impatient = open(0);
    become(loading('b'));
    expect(impatient.mayReturn('b')).toBe(false);
  });

  it('keeps requests until it is ready, and aborts them after the wait: loading alone does not count', () => {
    const watch = open();
    become(other());
    const [first, second] = [watch.watchReturn('a'), watch.watchReturn('a')];
    vi.advanceTimersByTime(20_000);
    become(loading('a'));
    vi.advanceTimersByTime(9_000);
    second.release();
    expect(first.lost.aborted).toBe(false);
    vi.advanceTimersByTime(2_000);
    expect([first.lost.aborted, second.lost.aborted]).toEqual([true, false]);
    const third = watch.watchReturn('a');
    vi.advanceTimersByTime(20_000);
    become(holding('a'));
    vi.advanceTimersByTime(60_000);
    expect(third.lost.aborted).toBe(false);
  });
});
