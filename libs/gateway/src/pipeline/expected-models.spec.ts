import { describe, expect, it } from 'vitest';
import type { Heartbeat, ModelWithoutReplica, PlacementListeners } from '#queue';
import { testDouble } from '#test/test-double';
import { ExpectedModels } from './expected-models.js';

interface Scene {
  workers?: { loading?: string[]; without?: [string, ModelWithoutReplica['cause']][] }[];
  placed?: string[];
  missed?: string[];
}

function expectedIn({ workers = [{}], placed = [], missed = [] }: Scene) {
  const list = () =>
    workers.map(({ loading = [], without = [] }, index) => ({
      processId: `w${index}`,
      role: 'worker',
      models: loading.map((modelId) => ({ modelId, state: 'loading' })),
      worker: {
        pools: [],
        budgets: {},
        withoutReplica: without.map(([modelId, cause]) => ({ modelId, cause, reason: '' })),
      },
    })) as unknown as Heartbeat[];
  const placements = placed.map((modelId) => ({ modelId, pool: 'local', pinned: false, replicas: null }));
  const listeners: PlacementListeners[] = [];
  const expected = new ExpectedModels(
    {
      membership: { list },
      placements: {
        subscribe: (added: PlacementListeners) => (listeners.push(added), () => undefined),
        ask: () => listeners.forEach(({ onDesired }) => onDesired?.({ revision: 1, placements })),
      },
    } as never,
    testDouble({ isMissed: (modelId) => missed.includes(modelId) }),
  );
  expected.onApplicationBootstrap();
  return expected;
}

describe('a model that no worker has ready', () => {
  it.each<[string, Scene, boolean]>([
    ['no worker names it', {}, false],
    ['no worker is known', { workers: [] }, true],
    ['a worker loads it', { workers: [{}, { loading: ['ears'] }] }, true],
    ['it waits for memory', { workers: [{ without: [['ears', 'waiting']] }] }, true],
    ['its loads fail, and are tried again', { workers: [{ without: [['ears', 'failed']] }] }, true],
    [
      'it is placed where its files are missing',
      { workers: [{ without: [['ears', 'not-installed']] }], placed: ['ears'] },
      false,
    ],
    [
      'it is placed where it does not fit',
      { workers: [{ without: [['ears', 'too-large']] }], placed: ['ears'] },
      false,
    ],
    [
      'one of two workers will load it',
      { workers: [{ without: [['ears', 'not-installed']] }, { without: [['ears', 'waiting']] }] },
      true,
    ],
    ['it is placed in a pool without workers', { placed: ['ears'] }, true],
    ['another model is placed', { placed: ['eyes'] }, false],
    ['its last worker was lost', { missed: ['ears'] }, true],
  ])('is expected or not where %s', (_where, scene, isExpected) => {
    expect(expectedIn(scene).isExpected('ears')).toBe(isExpected);
  });
});
