import type { ModelCapabilities, ModelManifest } from './manifest.js';

/** What manifests of text models may declare and no engine does yet. An answer that passes over it would be a wrong one. */
const unbuilt = {
  supportsFunctionCalling: false,
  supportsResponseSchema: false,
  supportsVision: false,
  supportsMultipleImages: false,
  supportsAudioInput: false,
  supportsVideoInput: false,
  supportsE2EE: false,
} satisfies Partial<ModelCapabilities>;

/** What a model can do here: what its manifest declares, without what is not built. */
export function builtCapabilities({
  type,
  capabilities,
}: Pick<ModelManifest, 'type' | 'capabilities'>): ModelCapabilities {
  return type === 'text' ? { ...capabilities, ...unbuilt } : capabilities;
}
