export * from './inference-services.js';
export * from './job-stream.js';
export * from './model-limit.js';
export * from './model-privacy.js';
export * from './queue-media.js';
export * from './queued-media.js';
export * from './request-headers.js';
export * from './run-request.js';
