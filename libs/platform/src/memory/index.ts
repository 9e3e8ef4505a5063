export { freeBytes } from './free-bytes.js';
export { IdleCollector } from './idle-collector.js';
