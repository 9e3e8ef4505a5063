export * from './rules.js';
export type { NewableClass } from './compiled-class.js';
export * from './find-issues.js';
export { nest, type NestedClass } from './nesting.js';
export * from './to-instance.js';
