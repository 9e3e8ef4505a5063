import { hostLoadOptions, type HostLoadOptions } from '#inference/host';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { type InstalledModel, pullModels, readInstalledModel, silentReporter } from '#model-store';
import { type Platform, startPlatform } from '#test/platform';

/** Installs missing models of the catalog; returns them in the order of the ids. */
export async function installAll(home: string, ids: string[]): Promise<InstalledModel[]> {
  const manifests = (await loadManifestFolder(bundledManifestFolder())).filter(({ id }) => ids.includes(id));
  await pullModels({ home, manifests, reporter: silentReporter });
  return await Promise.all(
    ids.map(async (id) => {
      const model = await readInstalledModel(home, id);
      if (model === null) throw new Error(`${id} could not be installed in ${home}`);
      return model;
    }),
  );
}

export interface ServedModels {
  home: string;
  models: readonly InstalledModel[];
  /** Applies to every model. */
  threads: number;
  transport?: 'redis' | 'postgres';
}

/** The whole platform with real models on the CPU. */
export function serveModels({ models, threads, ...options }: ServedModels): Promise<Platform> {
  return startPlatform({
    engine: 'text',
    ownPostgres: true,
    manifests: models.map(({ manifest }) => manifest),
    env: { SLUICE_THREADS: String(threads), SLUICE_PROVIDERS: 'cpu' },
    ...options,
  });
}

/** Load options of a model in a bare task engine. */
export function bareLoad({ manifest, folder }: InstalledModel, threads: number): HostLoadOptions {
  return hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads, slots: 1 });
}
