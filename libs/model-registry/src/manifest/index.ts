export { type BillableUnit, type ChargeLine, chargeLines, quoteUnits } from './charge-lines.js';
export type {
  InputAdapters,
  ManifestConverter,
  ManifestFile,
  ManifestSource,
  ModelManifest,
  ModelType,
  TextConstraints,
  ToolStyleName,
} from './manifest.js';
export { defaultThinkingBudgets, instructionTrait, modelTypes, toolStyleNames } from './manifest.js';
export { bundledManifestFolder, loadManifestFolder } from './manifest-folder.js';
export { listedManifests, selectManifests } from './manifest-selection.js';
export { fingerprintManifest } from './manifest-fingerprint.js';
export { longestImageSide, readImageTier } from './image-tier.js';
export { builtCapabilities } from './built-capabilities.js';
export { noCapabilities } from './capabilities.schema.js';
export { type Price, priceAt, type Pricing } from './pricing.js';
export { defaultVoiceOf, offeredFormats } from './voice-members.js';
export { usesWeb } from './web-capabilities.js';
export { parseManifest, readStoredManifest, validateManifest } from './parse-manifest.js';
export type {
  EmbeddingMembersSchema as EmbeddingMembers,
  MusicMembersSchema as MusicMembers,
  SpeechMembersSchema as SpeechMembers,
  VideoMembersSchema as VideoMembers,
  VoiceCloningSchema as VoiceCloning,
} from './kind-members.schema.js';
export type {
  ImageConstraintsSchema as ImageConstraints,
  InpaintConstraintsSchema as InpaintConstraints,
  VideoConstraintsSchema as VideoConstraints,
} from './constraints.schema.js';
