export * from './create-transport.js';
export * from './job-definition.js';
export * from './transport.js';
