import type { Placement, ClusterMembership, ModelWithoutReplica } from '#queue';
import { type InstalledModel, isSelected } from '../models-folder.js';
import { type DesiredModels, isChosen } from './desired-models.js';
import { AdapterGroups, withoutBase } from './adapter-groups.js';
import type { ModelResidency, WantedModel } from './model-residency.js';

export interface WantedSelection {
  wanted: WantedModel[];
  /**
   * Placed in a pool of this worker but not installed or not loadable here; reported so that another worker loads it.
   */
  missing: ModelWithoutReplica[];
}

/** Models that a worker should load: those in `SLUICE_MODELS` and those placed in its pools, if it has their keys. */
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
      /** False for a model whose jobs would fail here. */
      hasKeyOf: (modelId: string) => boolean;
    },
  ) {}

  private readonly groups = new AdapterGroups();

  async select(installed: readonly InstalledModel[]): Promise<WantedSelection> {
    const placements = this.options.desired.placements();
    const wanted: WantedModel[] = [];
    const missing: ModelWithoutReplica[] = [];
    const choose = (model: InstalledModel, carrier = model) => this.isWanted({ model, carrier, placements, missing });
    for (const base of installed.filter(isBase)) {
      const { manifest } = base;
      const chosen = await choose(base);
      const adapters: InstalledModel[] = [];
      let pinned = chosen?.pinned ?? false;
      for (const adapter of adaptersOf(base, installed)) {
        const found = await choose(adapter, base);
        if (found !== null) adapters.push(adapter);
        pinned ||= found?.pinned ?? false;
      }
      // An adapter needs its base, which is then served as well.
      if (chosen === null && adapters.length === 0) continue;
      // Helper models have no queue; other models would find the helper missing.
      wanted.push({ model: this.groups.attach(base, adapters), pinned: manifest.internal === true || pinned });
    }
    missing.push(...this.orphans(installed, placements));
    const ids = new Set(installed.map(({ manifest }) => manifest.id));
    const { hasKeyOf } = this.options;
    missing.push(...[...placements.keys()].filter((id) => !ids.has(id) && hasKeyOf(id)).map(notInstalled));
    return { wanted, missing };
  }

  /** Returns null for a model that this worker should not load. An adapter is carried by its base. */
  private async isWanted({ model, carrier, placements, missing }: Candidate): Promise<{ pinned: boolean } | null> {
    const { manifest } = model;
    if (!this.isNamed(model, placements)) return null;
    const placed = placements.get(manifest.id) ?? [];
    const obstacle = placed.length === 0 ? null : await this.options.residency.obstacle(carrier);
    const chosen = this.chosen(manifest.id, placed, obstacle === null);
    if (chosen.length > 0 || isSelected(manifest, this.options.names)) {
      return { pinned: chosen.some((placement) => placement.pinned) };
    }
    if (obstacle !== null) missing.push({ ...obstacle, modelId: manifest.id });
    return null;
  }

  /** Wanted adapters whose bases are not installed here. */
  private orphans(
    installed: readonly InstalledModel[],
    placements: ReadonlyMap<string, Placement[]>,
  ): ModelWithoutReplica[] {
    const bases = new Set(installed.filter(isBase).map(({ manifest }) => manifest.id));
    const isMissing = ({ manifest: { adapterOf } }: InstalledModel) => adapterOf !== undefined && !bases.has(adapterOf);
    return installed.filter((model) => isMissing(model) && this.isNamed(model, placements)).map(withoutBase);
  }

  /** Placed or selected here. Helper models have no jobs, so they need no key. */
  private isNamed({ manifest }: InstalledModel, placements: ReadonlyMap<string, Placement[]>): boolean {
    const { names, hasKeyOf } = this.options;
    if (!placements.has(manifest.id) && !isSelected(manifest, names)) return false;
    return manifest.internal === true || hasKeyOf(manifest.id);
  }

  private chosen(modelId: string, placements: readonly Placement[], canLoad: boolean): Placement[] {
    const { membership, processId, isLoaded } = this.options;
    const self = { processId, holds: isLoaded(modelId), canLoad };
    return placements.filter((placement) => isChosen(placement, self, membership.list()));
  }
}

interface Candidate {
  model: InstalledModel;
  /** What would be loaded for it. */
  carrier: InstalledModel;
  placements: ReadonlyMap<string, Placement[]>;
  /** Takes why it cannot be loaded. */
  missing: ModelWithoutReplica[];
}

function isBase({ manifest }: InstalledModel): boolean {
  return manifest.adapterOf === undefined;
}

/** In a fixed order, because the order of a folder's entries may change. */
function adaptersOf({ manifest: { id } }: InstalledModel, installed: readonly InstalledModel[]): InstalledModel[] {
  const adapters = installed.filter(({ manifest }) => manifest.adapterOf === id);
  return adapters.sort((left, right) => (left.manifest.id < right.manifest.id ? -1 : 1));
}

function notInstalled(modelId: string): ModelWithoutReplica {
  const reason = `${modelId} is not installed on this worker; run "sluice models pull ${modelId}" there`;
  return { modelId, cause: 'not-installed', reason };
}
