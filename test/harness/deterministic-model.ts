import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFolder } from '#model-store';
import { type ModelManifest, validateManifest } from '#model-registry/manifest';
import { installFixture } from './install-fixture.js';

/** A manifest of a model that the deterministic test engine simulates. */
export function deterministicManifest(id: string, overrides: Partial<ModelManifest> = {}): ModelManifest {
  return validateManifest(
    {
      id,
      type: 'text',
      name: `Test model ${id}`,
      description: 'Simulated by the deterministic test engine.',
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
      ...overrides,
    },
    'manifest.json',
  );
}

/** Installs such a model as a pull does: written to a sibling folder, then renamed into place. */
export async function installDeterministicModel(home: string, manifest: ModelManifest): Promise<void> {
  await installFixture(home, { id: manifest.id, converter: 'none' }, (folder) =>
    writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest)),
  );
}

export async function removeDeterministicModel(home: string, modelId: string): Promise<void> {
  await rm(modelFolder(home, modelId), { recursive: true, force: true });
}
