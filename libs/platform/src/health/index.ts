export * from './health-server.js';
export * from './readiness.js';
