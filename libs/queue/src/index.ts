export * from './job-definition.js';
export * from './transport.js';
