export * from './engines/text-generation.js';
export * from './scheduler/sequence.js';
export * from './host/host-protocol.js';
export * from './runtime/graph-session.js';
export * from './sampling/logits-batch.js';
export * from './scheduler/decoder.js';
export * from './scheduler/sequence-scheduler.js';
