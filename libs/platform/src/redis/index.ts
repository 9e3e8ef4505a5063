export * from './coalesce-writes.js';
export * from './denied-info.js';
