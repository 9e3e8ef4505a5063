export * from './process-identity.js';
export * from './start-refusal.js';
