export * from './artifact-store.js';
export { type ArtifactKind, type ArtifactRecord, parseArtifactId } from './artifact.js';
export * from './create-store.js';
export * from './discard.js';
export * from './download-links.js';
export { examineStorage } from './examine-storage.js';
export { type StoragePolicy, workerStoragePolicy } from './s3/worker-policy.js';
