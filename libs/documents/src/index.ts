export {
  DocumentExtractor,
  type DocumentExtractorOptions,
  type ExtractionOrder,
} from './extractor/document-extractor.js';
export type { ExtractorProgram } from './extractor/extractor-program.js';
