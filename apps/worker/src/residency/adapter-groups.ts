import type { ModelWithoutReplica } from '#queue';
import type { InstalledModel } from '../models-folder.js';

/** Attaches adapters to their bases. The same adapters of a base give the same object, as sizes are kept by it. */
export class AdapterGroups {
  private readonly known = new Map<string, InstalledModel>();

  /** Returns the base with its adapters; its version changes with theirs, so that its host is replaced. */
  attach(base: InstalledModel, adapters: readonly InstalledModel[]): InstalledModel {
    const { id } = base.manifest;
    if (adapters.length === 0) {
      this.known.delete(id);
      return base;
    }
    const versions = adapters.map(({ manifest, version }) => `${manifest.id} ${version}`);
    const version = [base.version, ...versions].join(' + ');
    const before = this.known.get(id);
    if (before?.version === version) return before;
    const group = { ...base, adapters: [...adapters], version };
    this.known.set(id, group);
    return group;
  }
}

/** Returns why an adapter cannot be served here. */
export function withoutBase({ manifest: { id, adapterOf } }: InstalledModel): ModelWithoutReplica {
  const reason = `${id} is not loaded: its base ${adapterOf} is not installed on this worker; run "sluice models pull ${adapterOf}" there`;
  return { modelId: id, cause: 'not-installed', reason };
}

/** The same obstacle for every adapter of a base, since they are served together. */
export function alsoOfAdapters(
  obstacles: readonly ModelWithoutReplica[],
  models: readonly InstalledModel[],
): ModelWithoutReplica[] {
  const adapters = new Map(models.map(({ manifest, adapters: ofModel = [] }) => [manifest.id, ofModel]));
  return obstacles.flatMap((obstacle) => [
    obstacle,
    ...(adapters.get(obstacle.modelId) ?? []).map(({ manifest }) => ({ ...obstacle, modelId: manifest.id })),
  ]);
}
