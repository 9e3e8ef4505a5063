import type { RunMemory } from '#model-memory';
import type { ModelManifest, ModelType } from '../manifest/index.js';
import { isRetired } from './deprecation.js';
import { type CompatibleNames, noCompatibleNames } from './compatible-names.js';
import type { ModelRow, RegistryContent } from './model.repository.js';
import type { OnlineModels } from './online-models.js';

export type NameKind = 'trait' | 'alias';

const defaultTrait = 'default';

/** True for internal models that have a queue of their own. */
function isCalledByGateway({ adapts, classifies }: ModelManifest): boolean {
  return adapts !== undefined || classifies !== undefined;
}

/** Registry content at one moment, with the online models. Pure: results depend only on the input. */
export class RegistrySnapshot {
  private readonly models: Map<string, ModelRow>;
  /** Internal models that turn inputs into text or classify them; clients cannot name them. */
  private readonly adapters: Map<string, ModelRow>;
  private readonly names: RegistryContent['names'];

  constructor(
    content: RegistryContent,
    private readonly online: OnlineModels,
    readonly nowMs: number,
    private readonly compatible: CompatibleNames = noCompatibleNames,
  ) {
    // Internal models are invisible to clients, and no name resolves to one.
    const withId = (rows: ModelRow[]) => new Map(rows.map((row) => [row.manifest.id, row]));
    this.models = withId(content.models.filter(({ manifest }) => !manifest.internal));
    this.adapters = withId(content.models.filter(({ manifest }) => isCalledByGateway(manifest)));
    this.names = content.names.filter(({ modelId }) => this.models.has(modelId));
  }

  find(id: string): ModelManifest | null {
    return this.models.get(id)?.manifest ?? null;
  }

  /** Returns a model that another one names as its input adapter, or that classifies inputs. */
  findAdapter(id: string): ModelManifest | null {
    return this.adapters.get(id)?.manifest ?? this.find(id);
  }

  /** True if no worker serves it, or the operator took it offline. */
  isOffline(id: string): boolean {
    return this.isDisabled(id) || !this.online.isOnline(id);
  }

  /** What one run of a model may take; null where no size is too large. */
  runMemory(id: string): RunMemory | null {
    return this.online.runMemory(id);
  }

  /** True if the operator took it offline, or the model does not exist. */
  isDisabled(id: string): boolean {
    return (this.adapters.get(id) ?? this.models.get(id))?.disabled !== false;
  }

  /** Returns the models that may be listed: newest first, then by id. */
  listed(): ModelManifest[] {
    return [...this.models.values()]
      .map(({ manifest }) => manifest)
      .filter((manifest) => !isRetired(manifest, this.nowMs))
      .sort((left, right) => right.created - left.created || (left.id < right.id ? -1 : 1));
  }

  /**
   * Returns the model that a trait or alias resolves to: the highest rank that is online, else the highest rank. The
   * traits of a retired model move to its replacement. Its aliases stay, unless another model has them, because they
   * are other names of that model. Requests for them are treated like requests for its id. A compatible name that no
   * model has is an alias of the default one.
   */
  resolveName(kind: NameKind, type: ModelType, name: string): ModelManifest | null {
    const candidates = this.names
      .filter((row) => row.kind === kind && row.type === type && row.name === name)
      .sort((left, right) => right.rank - left.rank || (left.modelId < right.modelId ? -1 : 1))
      .map(({ modelId }) => (kind === 'trait' ? this.successorOf(modelId) : this.find(modelId)))
      .filter((manifest) => manifest !== null);
    if (candidates.length === 0 && kind === 'alias' && this.compatible.has(type, name)) {
      return this.resolveName('trait', type, defaultTrait);
    }
    const listed = candidates.filter((manifest) => !isRetired(manifest, this.nowMs));
    return listed.find(({ id }) => !this.isOffline(id)) ?? listed[0] ?? candidates[0] ?? null;
  }

  /** Returns every trait or alias of a kind of models, with the model it currently resolves to, by name. */
  namesOf(kind: NameKind, type: ModelType): Map<string, ModelManifest> {
    const names = this.names.filter((row) => row.kind === kind && row.type === type).map(({ name }) => name);
    if (kind === 'alias') names.push(...this.compatible.of(type));
    const found = new Map<string, ModelManifest>();
    for (const name of [...new Set(names)].sort()) {
      const resolved = this.resolveName(kind, type, name);
      const active = resolved && this.activeModelFor(resolved);
      if (active) found.set(name, active);
    }
    return found;
  }

  /**
   * Returns the model itself while it is listed, else the one that its requests are redirected to; null without one.
   */
  activeModelFor(manifest: ModelManifest): ModelManifest | null {
    if (!isRetired(manifest, this.nowMs)) return manifest;
    return manifest.deprecation?.autoRemap ? this.successorOf(manifest.id) : null;
  }

  /**
   * Returns the model itself while it is listed, else the first listed one along its replacements; null without one.
   */
  successorOf(id: string): ModelManifest | null {
    const seen = new Set<string>();
    for (let next: string | undefined = id; next !== undefined && !seen.has(next);) {
      seen.add(next);
      const manifest = this.find(next);
      if (!manifest) return null;
      if (!isRetired(manifest, this.nowMs)) return manifest;
      next = manifest.deprecation?.replacementModelId;
    }
    return null;
  }
}
