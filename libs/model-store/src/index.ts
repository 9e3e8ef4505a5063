export { type InstalledRecord, modelFolder, modelsFolder } from './layout.js';
export { type ProgressReporter, type PullProgress, silentReporter } from './pull/progress.js';
export { inPullOrder, pullModels, type PullResult } from './pull/pull-models.js';
export type { SourceSettings } from './source/source-settings.js';
export {
  type DecoderOptions,
  type DecoderShape,
  emitConcatDecoder,
  emitGroupQueryDecoder,
  emitSplitDecoder,
  type LayerPart,
  type LinearFormat,
  weightNames,
  type WeightSource,
} from './convert/decoder/index.js';
export { type WeightFormat, weightFormats } from './convert/conversion-options.js';
export { convertModel } from './convert/index.js';
export { bytesOf, GraphBuilder, type OnnxGraph, writeOnnxModel } from './onnx/index.js';
export { type InstalledModel, listInstalledModels, readInstalledModel } from './installed-models.js';
export { createProgressReporter, formatBytes } from './pull/progress-reporter.js';
export { type FileLockOptions, withFileLock } from './pull/file-lock.js';
export type { Draft, DraftFacts, DraftOptions } from './draft.js';
export { draftManifest } from './draft-manifest.js';
export { removeInstalledModel } from './pull/remove-model.js';
export { sourceFromPasted } from './source/pasted-source.js';
export { unpinnedSources } from './source/pinned-source.js';
