export * from './embedding.engine.js';
export * from './embedding-task.js';
export * from './encoder-feeds.js';
export { inspectCrossEncoder } from './encoder-graph.js';
export * from './encoder-limits.js';
export * from './row.engine.js';
export * from './row-request.js';
export * from './sentence.encoder.js';
export * from './sentence-settings.js';
