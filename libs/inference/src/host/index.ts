export * from './host-protocol.js';
export type * from '../engines/text-generation.js';
