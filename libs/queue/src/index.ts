export * from './create-transport.js';
export * from './delivery-checks.js';
export * from './desired-placements.js';
export * from './job-definition.js';
export * from './job-delivery.js';
export * from './presence-beat.js';
export * from './transport.js';
