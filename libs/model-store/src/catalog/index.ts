export { catalogDraft, type CatalogEntry, catalogMemory, catalogPurposes, loadCatalog } from './catalog.js';
export { checkCatalogEntry, type EntryCheck } from './check-entry.js';
