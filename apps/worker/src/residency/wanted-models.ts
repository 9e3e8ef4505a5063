import type { Placement, ClusterMembership, ModelWithoutReplica } from '#queue';
import { type InstalledModel, isSelected } from '../models-folder.js';
import { type DesiredModels, isChosen } from './desired-models.js';
import type { ModelResidency, WantedModel } from './model-residency.js';

export interface WantedSelection {
  wanted: WantedModel[];
  /**
   * Placed in a pool of this worker but not installed or not loadable here; reported so that another worker loads it.
   */
  missing: ModelWithoutReplica[];
}

/** Models that a worker should load: those in `SLUICE_MODELS` and those placed in its pools. */
export class WantedModels {
  constructor(
    private readonly options: {
      /** `SLUICE_MODELS`: ids, set names, or `all`. */
      names: readonly string[];
      desired: DesiredModels;
      residency: ModelResidency;
      membership: ClusterMembership;
      processId: string;
      isLoaded: (modelId: string) => boolean;
    },
  ) {}

  async select(installed: readonly InstalledModel[]): Promise<WantedSelection> {
    const placements = this.options.desired.placements();
    const wanted: WantedModel[] = [];
    const missing: ModelWithoutReplica[] = [];
    for (const model of installed) {
      const { manifest } = model;
      const placed = placements.get(manifest.id) ?? [];
      const obstacle = placed.length === 0 ? null : await this.options.residency.obstacle(model);
      const chosen = this.chosen(manifest.id, placed, obstacle === null);
      if (chosen.length === 0 && !isSelected(manifest, this.options.names)) {
        if (obstacle !== null) missing.push(obstacle);
        continue;
      }
      // Helper models have no queue; other models would find the helper missing.
      const pinned = manifest.internal === true || chosen.some((placement) => placement.pinned);
      wanted.push({ model, pinned });
    }
    const ids = new Set(installed.map(({ manifest }) => manifest.id));
    missing.push(...[...placements.keys()].filter((id) => !ids.has(id)).map(notInstalled));
    return { wanted, missing };
  }

  private chosen(modelId: string, placements: readonly Placement[], canLoad: boolean): Placement[] {
    const { membership, processId, isLoaded } = this.options;
    const self = { processId, holds: isLoaded(modelId), canLoad };
    return placements.filter((placement) => isChosen(placement, self, membership.list()));
  }
}

function notInstalled(modelId: string): ModelWithoutReplica {
  const reason = `${modelId} is not installed on this worker; run "sluice models pull ${modelId}" there`;
  return { modelId, cause: 'not-installed', reason };
}
