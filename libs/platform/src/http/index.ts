export * from './error-document.js';
export * from './gone-signal.js';
export * from './json-body.js';
export * from './json-fault.js';
export * from './route-access.js';
export * from './sse-writer.js';
export * from './wire-fields.js';
export * from './wire-validator.js';
export { nest, type NestedClass } from './wire-nesting.js';
