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
async function select(obstacle: ModelWithoutReplica | null, replicas: number | null) {
  const placement: Placement = { modelId: 'placed', pool: 'text', pinned: false, replicas };
  const wantedModels = new WantedModels({
    names: [],
    desired: { placements: () => new Map([['placed', [placement]]]) } as unknown as DesiredModels,
    residency: { obstacle: async () => obstacle } as unknown as ModelResidency,
    membership: { list: () => [] } as unknown as ClusterMembership,
    processId: 'w1',
    isLoaded: () => false,
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
});
