export * from './engines/text-generation.js';
export * from './scheduler/sequence.js';
export * from './host/host-protocol.js';
