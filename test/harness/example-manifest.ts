import { type ModelManifest, validateManifest } from '#model-registry/manifest';

/** A small valid manifest for registry tests. */
export function exampleManifest(changes: Partial<ModelManifest> = {}): ModelManifest {
  const manifest = {
    id: 'example',
    type: 'text',
    name: 'Example',
    description: 'For tests.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org',
    license: 'MIT',
    family: 'decoder',
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'npm:example@1.0.0', files: [{ path: 'model.onnx' }] }],
    graphFile: 'model.onnx',
    contextLength: 256,
    maxCompletionTokens: 128,
    constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
    pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } },
    ...changes,
  };
  return validateManifest(manifest, `${manifest.id}.yaml`);
}

/** An embedding model, for type mismatches. */
export function exampleEmbeddingManifest(changes: Partial<ModelManifest> = {}): ModelManifest {
  return exampleManifest({
    id: 'example-embedding',
    type: 'embedding',
    constraints: undefined,
    kindMembers: { embeddingDimensions: 8, maxInputTokens: 64, supportsCustomDimensions: false },
    ...changes,
  });
}
