export { catalogueDraft, type CatalogueEntry, catalogueMemory, cataloguePurposes, loadCatalogue } from './catalogue.js';
export { checkCatalogueEntry, type EntryCheck } from './check-entry.js';
