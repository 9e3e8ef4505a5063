import type { ModelManifest, ModelType } from '../manifest/index.js';
import { isRetired } from './deprecation.js';
import type { ModelRow, RegistryContent } from './model.repository.js';
import type { OnlineModels } from './online-models.js';

export type NameKind = 'trait' | 'alias';

/** The registry at one moment, with what is online. Pure: everything it answers follows from what it was given. */
export class RegistrySnapshot {
  private readonly models: Map<string, ModelRow>;
  private readonly names: RegistryContent['names'];

  constructor(
    content: RegistryContent,
    private readonly online: OnlineModels,
    readonly nowMs: number,
  ) {
    // Callers know nothing of internal models, and no name leads to one.
    this.models = new Map(
      content.models.filter(({ manifest }) => !manifest.internal).map((row) => [row.manifest.id, row]),
    );
    this.names = content.names.filter(({ modelId }) => this.models.has(modelId));
  }

  find(id: string): ModelManifest | null {
    return this.models.get(id)?.manifest ?? null;
  }

  /** No worker holds it, or the operator took it offline. */
  isOffline(id: string): boolean {
    return this.isDisabled(id) || !this.online.isOnline(id);
  }

  /** The operator took it offline, or there is no such model. */
  isDisabled(id: string): boolean {
    return this.models.get(id)?.disabled !== false;
  }

  /** Models that may be listed: newest first, then by id (gap 63). */
  listed(): ModelManifest[] {
    return [...this.models.values()]
      .map(({ manifest }) => manifest)
      .filter((manifest) => !isRetired(manifest, this.nowMs))
      .sort((left, right) => right.created - left.created || (left.id < right.id ? -1 : 1));
  }

  /**
   * The model that a trait or alias means now: of those that carry it, the highest rank that is online, else the
   * highest rank. A retired model's traits move to its replacement. Its aliases stay with it where no other model has them:
   * they are other names of that one model, and what becomes of such a request is decided as for its id.
   */
  replicaOf(kind: NameKind, type: ModelType, name: string): ModelManifest | null {
    const replicas = this.names
      .filter((row) => row.kind === kind && row.type === type && row.name === name)
      .sort((left, right) => right.rank - left.rank || (left.modelId < right.modelId ? -1 : 1))
      .map(({ modelId }) => (kind === 'trait' ? this.successorOf(modelId) : this.find(modelId)))
      .filter((manifest) => manifest !== null);
    const listed = replicas.filter((manifest) => !isRetired(manifest, this.nowMs));
    return listed.find(({ id }) => !this.isOffline(id)) ?? listed[0] ?? replicas[0] ?? null;
  }

  /** Every trait or alias of a kind of models, with the model that answers to it now, by name. */
  namesOf(kind: NameKind, type: ModelType): Map<string, ModelManifest> {
    const names = this.names.filter((row) => row.kind === kind && row.type === type).map(({ name }) => name);
    const found = new Map<string, ModelManifest>();
    for (const name of [...new Set(names)].sort()) {
      const replica = this.replicaOf(kind, type, name);
      const answering = replica && this.answererFor(replica);
      if (answering) found.set(name, answering);
    }
    return found;
  }

  /** The model itself while it is listed, else the one that its requests may go to; null where they may not. */
  answererFor(manifest: ModelManifest): ModelManifest | null {
    if (!isRetired(manifest, this.nowMs)) return manifest;
    return manifest.deprecation?.autoRemap ? this.successorOf(manifest.id) : null;
  }

  /** The model itself while it is listed, else the first listed one along its replacements; null where none is. */
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
