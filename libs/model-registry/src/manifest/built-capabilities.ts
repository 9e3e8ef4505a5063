import type { SpeechMembersSchema } from './kind-members.schema.js';
import type { ModelCapabilities, ModelManifest } from './manifest.js';

/** Capabilities that any manifest may declare but nothing here implements: searches and trusted hardware. */
const neverBuilt = {
  supportsWebSearch: false,
  supportsXSearch: false,
  supportsTeeAttestation: false,
  supportsE2EE: false,
} satisfies Partial<ModelCapabilities>;

/** Capabilities of text models that no engine supports. Ignoring them would return wrong results. */
const unbuilt = {
  supportsAudioInput: false,
} satisfies Partial<ModelCapabilities>;

/** Families whose models may see; no other engine reads images. */
const seeingFamilies: readonly string[] = ['vision-language'];

const blind = {
  supportsVision: false,
  supportsMultipleImages: false,
  supportsVideoInput: false,
} satisfies Partial<ModelCapabilities>;

/** What the engine does for every text model, whatever its manifest says: the sampler enforces the schema, not the model. */
const built = { supportsFunctionCalling: true, supportsResponseSchema: true } satisfies Partial<ModelCapabilities>;

/** Returns the declared capabilities without the unsupported ones. */
export function builtCapabilities({
  type,
  family,
  capabilities,
}: Pick<ModelManifest, 'type' | 'capabilities'> & { family?: string }): ModelCapabilities {
  if (type !== 'text') return { ...capabilities, ...neverBuilt };
  const seen = seeingFamilies.includes(family ?? '') ? {} : blind;
  return { ...capabilities, ...neverBuilt, ...unbuilt, ...seen, ...built };
}

/** Families that clone voices. None is built yet; the name is that of the first, which tests use. */
const cloningFamilies: readonly string[] = ['voice-cloning'];

/** Returns the declared members of a kind of model without those that its family does not implement. */
export function builtMembers<Members extends object>(
  { family }: Pick<ModelManifest, 'family'>,
  members: Members & Pick<SpeechMembersSchema, 'voice_cloning'>,
): Members {
  if (cloningFamilies.includes(family)) return members;
  const { voice_cloning: _cloning, ...others } = members;
  return others as Members;
}
