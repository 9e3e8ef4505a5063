export * from './open-tracing.js';
export * from './tracing.js';
