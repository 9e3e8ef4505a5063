export * from './coalesce-writes.js';
