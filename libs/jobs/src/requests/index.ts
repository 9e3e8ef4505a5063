export * from './inference-services.js';
export * from './job-exchange.js';
export * from './request-headers.js';
export * from './run-request.js';
