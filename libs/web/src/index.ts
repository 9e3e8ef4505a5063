export type { PageLink, PageMetadata } from '#documents';
export * from './pages/page-reader.js';
export { createProviders } from './search/create-providers.js';
export { ProviderFault, type SearchProvider } from './search/search-provider.js';
export * from './search/web-search.js';
export { WebFault, type WebFaultReason } from './web-fault.js';
