export * from './available-processors.js';
export * from './process-identity.js';
export * from './product-version.js';
export * from './start-command.js';
export * from './start-refusal.js';
