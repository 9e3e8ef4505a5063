import { describe, expect, it } from 'vitest';
import type { ModelWithoutReplica } from '#queue';
import { pendingModels, type StartingModel, StartupModels, type StartupView } from './startup-models.js';

const model = (id: string, state: Partial<StartingModel> = {}): StartingModel => {
  return { id, hasServed: false, loadFailure: null, ...state };
};
const absent: ModelWithoutReplica = { modelId: 'c', cause: 'not-installed', reason: 'c is not installed' };
const nothing: StartupView = { isPlanned: true, due: [], models: [], missing: [] };

describe('a starting worker', () => {
  it('waits for nothing if it is to serve nothing', () => {
    expect(pendingModels(nothing)).toEqual([]);
  });

  it('waits for the placements of its pools', () => {
    expect(pendingModels({ ...nothing, isPlanned: false })).toEqual([expect.stringContaining('are not known yet')]);
  });

  it('waits for each model that it is to serve, and says why one is not loaded', () => {
    const view = {
      isPlanned: true,
      due: ['a', 'b', 'c', 'd', 'e'],
      models: [model('a', { hasServed: true }), model('b'), model('d', { loadFailure: 'load failed: no device' })],
      missing: [absent],
    };
    expect(pendingModels(view)).toEqual([
      'b is being loaded',
      'd is not loaded: load failed: no device',
      'e is being loaded',
      'c is not installed',
    ]);
  });

  it('does not wait for models that it has loaded but is not to serve', () => {
    expect(pendingModels({ ...nothing, models: [model('unwanted')] })).toEqual([]);
  });
});

describe('the readiness of models', () => {
  function setUp() {
    const view: StartupView = { ...nothing, due: ['a'] };
    const state = { view, failed: [] as ModelWithoutReplica[], announced: 0 };
    const startup = new StartupModels({
      view: () => state.view,
      failed: () => state.failed,
      announce: async () => void state.announced++,
    });
    return { state, startup };
  }

  it('holds the worker up until all are loaded, and announces them before it is ready', async () => {
    const { state, startup } = setUp();
    await expect(startup.check()).rejects.toThrow('a is being loaded.');
    expect([startup.isDone, state.announced]).toEqual([false, 0]);
    state.view = { ...state.view, models: [model('a', { hasServed: true })] };
    await startup.check();
    expect([startup.isDone, state.announced]).toEqual([true, 1]);
  });

  it('does not return to waiting when a model is evicted, reloaded or placed later, and reports failed ones', async () => {
    const { state, startup } = setUp();
    state.view = { ...nothing };
    await startup.check();
    state.view = { ...nothing, due: ['later'] };
    await startup.check();
    state.failed = [{ modelId: 'later', cause: 'failed', reason: 'later is not loaded: no device' }];
    await expect(startup.check()).rejects.toThrow('later is not loaded: no device.');
    expect([startup.isDone, state.announced]).toEqual([true, 1]);
  });
});
