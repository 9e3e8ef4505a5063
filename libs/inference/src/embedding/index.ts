export * from './embedding.engine.js';
export * from './embedding-task.js';
export * from './sentence.encoder.js';
export * from './sentence-settings.js';
