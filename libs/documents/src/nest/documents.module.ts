import { Module } from '@nestjs/common';
import { DocumentExtractor } from '../extractor/document-extractor.js';

/** Text of files that callers send. */
@Module({
  providers: [{ provide: DocumentExtractor, useFactory: () => new DocumentExtractor() }],
  exports: [DocumentExtractor],
})
export class DocumentsModule {}
