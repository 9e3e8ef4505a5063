export { keyFingerprint } from './key-fingerprints.repository.js';
export { examineStores, type StoreSettings, type StoresReport } from './examine-stores.js';
export { namedKeysOf, reportStores } from './report-stores.js';
