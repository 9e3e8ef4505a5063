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
  it('gives up the answers of a model that nobody holds any more, and no others', () => {
    const watch = new ModelAvailabilityWatcher(membership());
    const [a, b] = [watch.watch('a'), watch.watch('b')];
    become(holding('b'));
    vi.advanceTimersByTime(5_000);
    expect([a.lost.aborted, b.lost.aborted]).toEqual([true, false]);
  });

  it('forgives a holder that comes back', () => {
    const watch = new ModelAvailabilityWatcher(membership());
    const { lost } = watch.watch('a');
    become();
    vi.advanceTimersByTime(500);
    become(holding('a'));
    vi.advanceTimersByTime(5_000);
    expect(lost.aborted).toBe(false);
  });

  it('gives up an answer whose model had lost its holder before anybody watched', () => {
    const watch = new ModelAvailabilityWatcher(membership());
    heartbeats = [holding('b')];
    const { lost } = watch.watch('a');
    vi.advanceTimersByTime(5_000);
    expect(lost.aborted).toBe(true);
  });

  it('waits longer for who says so, and counts anew when somebody held it meanwhile', () => {
    const watch = new ModelAvailabilityWatcher(membership());
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

  it('waits for a model whose host does not come up for as long as its jobs wait for the host', () => {
    const watch = new ModelAvailabilityWatcher(membership());
    const [waiting, running] = [watch.watch('a', 30_000), watch.watch('a')];
    become(inState('loading', 'a'));
    vi.advanceTimersByTime(29_000);
    expect([waiting.lost.aborted, running.lost.aborted]).toEqual([false, false]);
    become(inState('loading', 'a'));
    vi.advanceTimersByTime(2_000);
    expect([waiting.lost.aborted, running.lost.aborted]).toEqual([true, true]);
  });

  it('waits without end for a model that is loaded anew, and for one whose host is back', () => {
    const watch = new ModelAvailabilityWatcher(membership());
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

  it('waits no longer for a model that a living worker has let go of', () => {
    const watch = new ModelAvailabilityWatcher(membership());
    const { lost } = watch.watch('a', 30_000);
    become(holding('b'));
    vi.advanceTimersByTime(3_000);
    expect(lost.aborted).toBe(true);
  });

  it('leaves released answers alone', () => {
    const watch = new ModelAvailabilityWatcher(membership());
    const { lost, release } = watch.watch('a');
    release();
    become();
    vi.advanceTimersByTime(5_000);
    expect(lost.aborted).toBe(false);
  });
});
