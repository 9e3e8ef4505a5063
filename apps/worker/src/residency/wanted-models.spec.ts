import { describe, expect, it } from 'vitest';
import type { Placement, ClusterMembership, ModelWithoutReplica } from '#queue';
import type { InstalledModel } from '../models-folder.js';
import type { DesiredModels } from './desired-models.js';
import type { ModelResidency } from './model-residency.js';
import { WantedModels } from './wanted-models.js';

const model = {
  manifest: { id: 'placed', sets: [] },
  directory: '/models/placed',
  version: '1',
} as unknown as InstalledModel;
const tooLarge: ModelWithoutReplica = { modelId: 'placed', cause: 'too-large', reason: 'placed is not loaded' };

/** Returns what a worker that is alone in its pool wants. */
async function select(obstacle: ModelWithoutReplica | null, replicas: number | null, hasKey = true) {
  const placement: Placement = { modelId: 'placed', pool: 'text', pinned: false, replicas };
  const wantedModels = new WantedModels({
    names: [],
    desired: { placements: () => new Map([['placed', [placement]]]) } as unknown as DesiredModels,
    residency: { obstacle: async () => obstacle } as unknown as ModelResidency,
    membership: { list: () => [] } as unknown as ClusterMembership,
    processId: 'w1',
    isLoaded: () => false,
    hasKeyOf: () => hasKey,
  });
  const { wanted, missing } = await wantedModels.select([model]);
  return { wanted: wanted.map(({ model: { manifest } }) => manifest.id), missing };
}

describe('WantedModels', () => {
  it('includes the models placed in a pool of this worker', async () => {
    expect(await select(null, 1)).toEqual({ wanted: ['placed'], missing: [] });
  });

  it('reports a model that this worker cannot load, so that another worker does', async () => {
    expect(await select(tooLarge, 1)).toEqual({ wanted: [], missing: [tooLarge] });
  });

  it('keeps a model placed on every worker even if it cannot be loaded here', async () => {
    expect(await select(tooLarge, null)).toEqual({ wanted: ['placed'], missing: [] });
  });

  it('leaves out, and does not report, a model whose key this worker does not have', async () => {
    expect(await select(null, null, false)).toEqual({ wanted: [], missing: [] });
    expect(await select(tooLarge, 1, false)).toEqual({ wanted: [], missing: [] });
  });

  it('asks for keys of placed and selected models alone, and needs none for helpers', async () => {
    const ids = ['placed', 'selected', 'other', 'helper', 'absent'];
    const asked: string[] = [];
    const wantedModels = new WantedModels({
      names: ['selected', 'helper'],
      desired: {
        placements: () =>
          new Map([
            ['placed', []],
            ['absent', []],
          ]),
      } as unknown as DesiredModels,
      residency: {} as unknown as ModelResidency,
      membership: { list: () => [] } as unknown as ClusterMembership,
      processId: 'w1',
      isLoaded: () => false,
      hasKeyOf: (modelId) => asked.push(modelId) === 0,
    });
    const installed = ids
      .slice(0, -1)
      .map((id) => ({ ...model, manifest: { ...model.manifest, id, internal: id === 'helper' } }));
    const { wanted, missing } = await wantedModels.select(installed);
    expect([wanted.map(({ model: { manifest } }) => manifest.id), missing]).toEqual([['helper'], []]);
    expect(asked).toEqual(['placed', 'selected', 'absent']);
  });
});

describe('adapters', () => {
  const installed = (id: string, adapterOf?: string): InstalledModel =>
    ({ manifest: { id, sets: [], adapterOf }, directory: `/models/${id}`, version: '1' }) as unknown as InstalledModel;
  const base = installed('base');
  const [first, second] = [installed('first', 'base'), installed('second', 'base')];

  function wantedOf(names: string[], placed: string[] = [], withoutKey: string[] = []) {
    const placement = (modelId: string): Placement => ({ modelId, pool: 'text', pinned: true, replicas: null });
    return new WantedModels({
      names,
      desired: { placements: () => new Map(placed.map((id) => [id, [placement(id)]])) } as unknown as DesiredModels,
      residency: { obstacle: async () => null } as unknown as ModelResidency,
      membership: { list: () => [] } as unknown as ClusterMembership,
      processId: 'w1',
      isLoaded: () => false,
      hasKeyOf: (modelId) => !withoutKey.includes(modelId),
    });
  }

  it('are loaded with their base, which is loaded for them alone too', async () => {
    const { wanted, missing } = await wantedOf(['second'], ['first']).select([second, first, base]);
    expect(missing).toEqual([]);
    expect(wanted).toHaveLength(1);
    expect(wanted[0]).toMatchObject({ pinned: true, model: { manifest: { id: 'base' }, adapters: [first, second] } });
  });

  it('are loaded with a base whose key this worker does not have, unless theirs is missing too', async () => {
    const { wanted } = await wantedOf(['base', 'first'], ['second'], ['base', 'second']).select([second, first, base]);
    expect(wanted).toMatchObject([{ model: { manifest: { id: 'base' }, adapters: [first] } }]);
  });

  it('change the version of their base, and only when they change', async () => {
    const models = wantedOf(['base', 'first']);
    const load = async (...list: InstalledModel[]) => (await models.select(list)).wanted[0]?.model;
    expect(await load(base, second)).toBe(base);
    const once = await load(base, first);
    expect(once?.version).not.toBe(base.version);
    expect(await load(first, base)).toBe(once);
    expect((await load(base, { ...first, version: '2' }))?.version).not.toBe(once?.version);
  });

  it('are reported without a replica where their base is not installed', async () => {
    const { wanted, missing } = await wantedOf(['first']).select([first, second]);
    expect(wanted).toEqual([]);
    const reason = expect.stringMatching(/its base base is not installed/) as string;
    expect(missing).toEqual([{ modelId: 'first', cause: 'not-installed', reason }]);
  });
});
