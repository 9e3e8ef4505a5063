import type { ModelCapabilities, ModelManifest } from './manifest.js';

/**
 * Capabilities that manifests of text models may declare but no engine supports. Ignoring them would return wrong
 * results.
 */
const unbuilt = {
  supportsAudioInput: false,
  supportsVideoInput: false,
  supportsE2EE: false,
} satisfies Partial<ModelCapabilities>;

/** Families whose models may see; no other engine reads images. */
const seeingFamilies: readonly string[] = ['vision-language'];

const blind = { supportsVision: false, supportsMultipleImages: false } satisfies Partial<ModelCapabilities>;

/** What the engine does for every text model, whatever its manifest says: the sampler enforces the schema, not the model. */
const built = { supportsFunctionCalling: true, supportsResponseSchema: true } satisfies Partial<ModelCapabilities>;

/** Returns the declared capabilities without the unsupported ones. */
export function builtCapabilities({
  type,
  family,
  capabilities,
}: Pick<ModelManifest, 'type' | 'capabilities'> & { family?: string }): ModelCapabilities {
  if (type !== 'text') return capabilities;
  const seen = seeingFamilies.includes(family ?? '') ? {} : blind;
  return { ...capabilities, ...unbuilt, ...seen, ...built };
}
