export {
  DocumentExtractor,
  type DocumentExtractorOptions,
  type ExtractionRequest,
  type PageExtractionRequest,
} from './extractor/document-extractor.js';
export type { ExtractedPage, PageLink, PageMetadata } from './page.js';
export type { ExtractorProgram } from './extractor/extractor-program.js';
