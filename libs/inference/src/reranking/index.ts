export * from './cross.encoder.js';
export * from './rerank.engine.js';
export * from './rerank-task.js';
