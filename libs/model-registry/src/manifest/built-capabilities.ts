import type { ModelCapabilities, ModelManifest } from './manifest.js';

/**
 * Capabilities that manifests of text models may declare but no engine supports. Ignoring them would return wrong
 * results.
 */
const unbuilt = {
  supportsVision: false,
  supportsMultipleImages: false,
  supportsAudioInput: false,
  supportsVideoInput: false,
  supportsE2EE: false,
} satisfies Partial<ModelCapabilities>;

/** What the engine does for every text model, whatever its manifest says: the sampler enforces the schema, not the model. */
const built = { supportsFunctionCalling: true, supportsResponseSchema: true } satisfies Partial<ModelCapabilities>;

/** Returns the declared capabilities without the unsupported ones. */
export function builtCapabilities({
  type,
  capabilities,
}: Pick<ModelManifest, 'type' | 'capabilities'>): ModelCapabilities {
  return type === 'text' ? { ...capabilities, ...unbuilt, ...built } : capabilities;
}
