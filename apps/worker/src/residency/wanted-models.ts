import type { Placement, ClusterMembership, ModelWithoutReplica } from '#queue';
import { type InstalledModel, isSelected } from '../models-folder.js';
import { type DesiredModels, isChosen } from './desired-models.js';
import type { ModelResidency, WantedModel } from './model-residency.js';

export interface Wishes {
  wanted: WantedModel[];
  /** Placed in a pool of this worker, but not in its models folder, or nothing it can hold: told, so that another does. */
  missing: ModelWithoutReplica[];
}

/** What a worker should hold: what `SLUICE_MODELS` names, and what operators placed in its pools. */
export class WantedModels {
  constructor(
    private readonly options: {
      /** `SLUICE_MODELS`: ids, names of sets, or `all`. */
      names: readonly string[];
      desired: DesiredModels;
      residency: ModelResidency;
      membership: ClusterMembership;
      processId: string;
      isHeld: (modelId: string) => boolean;
    },
  ) {}

  async select(installed: readonly InstalledModel[]): Promise<Wishes> {
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
      // Others ask a helper without a queue, and would find it gone.
      const pinned = manifest.internal === true || chosen.some((placement) => placement.pinned);
      wanted.push({ model, pinned });
    }
    const ids = new Set(installed.map(({ manifest }) => manifest.id));
    missing.push(...[...placements.keys()].filter((id) => !ids.has(id)).map(notInstalled));
    return { wanted, missing };
  }

  private chosen(modelId: string, placements: readonly Placement[], canHold: boolean): Placement[] {
    const { membership, processId, isHeld } = this.options;
    const self = { processId, holds: isHeld(modelId), canHold };
    return placements.filter((placement) => isChosen(placement, self, membership.list()));
  }
}

function notInstalled(modelId: string): ModelWithoutReplica {
  const reason = `${modelId} is not installed where this worker looks; run "sluice models pull ${modelId}" there`;
  return { modelId, cause: 'not-installed', reason };
}
