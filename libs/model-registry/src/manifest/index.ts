export * from './manifest.js';
export * from './manifest-folder.js';
export * from './manifest-selection.js';
export { fingerprintManifest } from './manifest-fingerprint.js';
export * from './model.presenter.js';
export { noCapabilities, quantizations, reasoningEfforts } from './capabilities.schema.js';
export { modelIdPattern } from './manifest.schema.js';
export { parseManifest, readStoredManifest, validateManifest } from './parse-manifest.js';
