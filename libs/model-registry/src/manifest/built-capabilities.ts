import type { ModelCapabilities, ModelManifest } from './manifest.js';

/** What manifests of text models may declare and no engine does yet. An answer that passes over it would be a wrong one. */
const unbuilt = {
  supportsFunctionCalling: false,
  supportsVision: false,
  supportsMultipleImages: false,
  supportsAudioInput: false,
  supportsVideoInput: false,
  supportsE2EE: false,
} satisfies Partial<ModelCapabilities>;

/** What the engine does for every text model, whatever its manifest says: the sampler enforces the schema, not the model. */
const built = { supportsResponseSchema: true } satisfies Partial<ModelCapabilities>;

/** What a model can do here: what its manifest declares, without what is not built. */
export function builtCapabilities({
  type,
  capabilities,
}: Pick<ModelManifest, 'type' | 'capabilities'>): ModelCapabilities {
  return type === 'text' ? { ...capabilities, ...unbuilt, ...built } : capabilities;
}
