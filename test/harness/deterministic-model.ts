import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFolder, modelsFolder } from '#model-store';
import { type ModelManifest, validateManifest } from '#model-registry/manifest';

/** A manifest whose model the deterministic test engine plays. */
export function deterministicManifest(id: string, wishes: Partial<ModelManifest> = {}): ModelManifest {
  return validateManifest(
    {
      id,
      type: 'text',
      name: `Test model ${id}`,
      description: 'Played by the deterministic test engine.',
      created: 1_700_000_000,
      ownedBy: 'sluice',
      modelSource: 'https://example.com/test-model',
      license: 'Apache-2.0',
      family: 'decoder',
      tier: 'XS',
      privacy: 'private',
      sets: ['test'],
      sources: [{ uri: 'file:/nowhere', files: [{ path: 'model.onnx' }] }],
      converter: { kind: 'none' },
      graphFile: 'model.onnx',
      contextLength: 1_000,
      maxCompletionTokens: 1_000,
      slots: 4,
      cacheTokens: 4_000,
      capabilities: { supportsLogProbs: true, supportsReasoning: true, quantization: 'not-available' },
      constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
      pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } },
      ...wishes,
    },
    'manifest.json',
  );
}

/** Installs such a model the way a pull does: written beside, renamed into place. */
export async function installDeterministicModel(home: string, manifest: ModelManifest): Promise<void> {
  const partial = join(modelsFolder(home), `.partial-${manifest.id}`);
  await mkdir(partial, { recursive: true });
  const record = { modelId: manifest.id, installedAt: new Date(0).toISOString(), converter: 'none', files: [] };
  await writeFile(join(partial, 'installed.json'), JSON.stringify(record));
  await writeFile(join(partial, 'manifest.json'), JSON.stringify(manifest));
  await rm(modelFolder(home, manifest.id), { recursive: true, force: true });
  await rename(partial, modelFolder(home, manifest.id));
}

export async function removeDeterministicModel(home: string, modelId: string): Promise<void> {
  await rm(modelFolder(home, modelId), { recursive: true, force: true });
}
