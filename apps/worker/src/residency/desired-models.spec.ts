import { describe, expect, it } from 'vitest';
import type { DesiredPlacements, Placement, PlacementBus, PlacementListeners, Heartbeat } from '#queue';
import { DesiredModels, isChosen } from './desired-models.js';

const placed = (modelId: string, pool = 'text') => ({ modelId, pool, pinned: false, replicas: null });

/** A bus that delivers what a test publishes. */
class FakeBus implements PlacementBus {
  listeners: PlacementListeners = {};
  asked = 0;

  announce = (): Promise<void> => Promise.resolve();
  reportUnserved = (): void => undefined;
  ask = (): void => void this.asked++;
  subscribe(listeners: PlacementListeners): () => void {
    this.listeners = listeners;
    return () => (this.listeners = {});
  }

  publish(desired: DesiredPlacements): void {
    this.listeners.onDesired?.(desired);
  }
}

function listening(pools: string[]): { bus: FakeBus; desired: DesiredModels; changes: () => number } {
  const bus = new FakeBus();
  let changes = 0;
  const desired = new DesiredModels({ bus, pools, onChange: () => changes++, onUnserved: () => undefined });
  desired.start();
  return { bus, desired, changes: () => changes };
}

describe('DesiredModels', () => {
  it('requests the placements at start and knows those of its pools', () => {
    const { bus, desired, changes } = listening(['text', 'large']);
    expect(bus.asked).toBe(1);
    bus.publish({ revision: 1, placements: [placed('a'), placed('b', 'video'), placed('c', 'large')] });
    expect([...desired.placements().keys()]).toEqual(['a', 'c']);
    bus.publish({ revision: 1, placements: [placed('a'), placed('b', 'video'), placed('c', 'large')] });
    expect(changes()).toBe(1);
    desired.stop();
    expect(bus.listeners).toEqual({});
  });

  it('ignores an announcement older than the last one', () => {
    const { bus, desired } = listening(['text']);
    bus.publish({ revision: 5, placements: [placed('new')] });
    bus.publish({ revision: 4, placements: [placed('old')] });
    expect([...desired.placements().keys()]).toEqual(['new']);
    bus.publish({ revision: 5, placements: [] });
    expect(desired.placements().size).toBe(0);
    desired.stop();
  });

  it('requests nothing and places nothing without a pool', () => {
    const { bus, desired } = listening([]);
    expect(bus.asked).toBe(0);
    bus.publish({ revision: 1, placements: [placed('a')] });
    expect(desired.placements().size).toBe(0);
    desired.stop();
  });
});

function heartbeat(processId: string, { holds = false, pools = ['text'], cannot = false } = {}): Heartbeat {
  const models = holds
    ? [{ modelId: 'a', modalities: [], state: 'ready' as const, slots: 1, running: 0, provider: 'cpu' }]
    : [];
  const withoutReplica = cannot ? [{ modelId: 'a', cause: 'too-large' as const, reason: '' }] : [];
  return {
    processId,
    role: 'worker',
    replyAddress: null,
    alive: true,
    models,
    worker: { pools, budgets: {}, withoutReplica },
  };
}

describe('isChosen', () => {
  const ids = ['w1', 'w2', 'w3', 'w4', 'w5'];
  const two: Placement = { ...placed('a'), replicas: 2 };
  const chosenOf = (heartbeats: Heartbeat[], placement = two) =>
    heartbeats
      .filter((own) => {
        const canLoad = own.worker?.withoutReplica.length === 0;
        return isChosen(placement, { processId: own.processId, holds: own.models.length > 0, canLoad }, heartbeats);
      })
      .map(({ processId }) => processId);

  it('assigns the requested number of workers, and all workers agree', () => {
    const heartbeats = ids.map((id) => heartbeat(id));
    expect(chosenOf(heartbeats)).toHaveLength(2);
    expect(chosenOf([...heartbeats].reverse()).sort()).toEqual(chosenOf(heartbeats).sort());
    expect(chosenOf(heartbeats, placed('a'))).toEqual(ids);
    expect(chosenOf(heartbeats.slice(0, 1))).toEqual(['w1']);
  });

  it('prefers workers that have the model, and skips those that cannot load it or are in other pools', () => {
    const holding = ids.map((id) => heartbeat(id, { holds: id === 'w3' || id === 'w5' }));
    expect(chosenOf(holding)).toEqual(['w3', 'w5']);
    const limited = ids.map((id) => heartbeat(id, { cannot: id !== 'w2' && id !== 'w4' }));
    expect(chosenOf(limited)).toEqual(['w2', 'w4']);
    const elsewhere = ids.map((id) => heartbeat(id, { pools: id === 'w1' ? ['text'] : ['video'] }));
    const [first] = elsewhere;
    expect(first && isChosen(two, { processId: 'w1', holds: false, canLoad: true }, elsewhere)).toBe(true);
  });

  it('skips workers that have no key for the model, whatever pool they name', () => {
    const honest = heartbeat('w1');
    const foreign = ids.slice(1).map((id) => ({ ...heartbeat(id, { holds: true }), onlyModels: ['b'] }));
    const peer = { ...heartbeat('w6'), onlyModels: ['a', 'b'] };
    expect(chosenOf([...foreign, honest, peer]).filter((id) => !ids.slice(1).includes(id))).toEqual(['w1', 'w6']);
  });

  it('spreads models over workers', () => {
    const heartbeats = ids.map((id) => heartbeat(id));
    const first = Array.from({ length: 40 }, (_, index) =>
      chosenOf(heartbeats, { ...two, modelId: `model-${index}`, replicas: 1 }).join(),
    );
    expect(new Set(first).size).toBe(ids.length);
  });
});
