export * from './host-process.js';
export * from './host-protocol.js';
export * from './host-supervisor.js';
export { serveModelHost } from './model-host.js';
export * from './text-generation-runner.js';
export { type EngineLoader, type LoadedEngine } from './loaded-engine.js';
export type * from '../engines/text-generation.js';
