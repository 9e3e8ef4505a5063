export * from './create-transport.js';
export * from './delivery-checks.js';
export * from './job-definition.js';
export * from './job-delivery.js';
export * from './transport.js';
