import type { DocumentFormat, DocumentHints, ExtractedText } from './document.js';
import { ZipArchive } from './containers/zip-archive.js';
import type { DocumentLimits } from './document-limits.js';
import { DocumentFault } from './document-fault.js';
import { extractDocx } from './formats/docx.js';
import { detectFormat, isZip } from './formats/detect-format.js';
import { extractEpub } from './formats/epub.js';
import { extractPdf } from './formats/pdf.js';
import { extractPlainText } from './formats/plain-text.js';
import { extractPptx } from './formats/pptx.js';
import { extractXls } from './formats/xls.js';
import { extractXlsx } from './formats/xlsx.js';
import { TextLimitReached, TextSink } from './text-sink.js';

/** A whole document and where its text goes. */
interface Extraction {
  bytes: Buffer;
  archive: ZipArchive;
  sink: TextSink;
  limits: DocumentLimits;
}

const extractors: Record<DocumentFormat, (extraction: Extraction) => void | Promise<void>> = {
  pdf: ({ bytes, sink, limits }) => extractPdf(bytes, sink, limits),
  epub: ({ archive, sink, limits }) => extractEpub(archive, sink, limits),
  docx: ({ archive, sink }) => extractDocx(archive, sink),
  pptx: ({ archive, sink, limits }) => extractPptx(archive, sink, limits),
  xlsx: ({ archive, sink, limits }) => extractXlsx(archive, sink, limits),
  xls: ({ bytes, sink, limits }) => extractXls(bytes, sink, limits),
  text: ({ bytes, sink }) => extractPlainText(bytes, sink),
};

/**
 * Extracts the text of a document in this process: run it only in one that may be killed. Rejects with `DocumentFault`
 * for everything that is wrong with the file.
 */
export async function extractDocument(
  bytes: Buffer,
  hints: DocumentHints,
  limits: DocumentLimits,
): Promise<ExtractedText> {
  const archive = isZip(bytes) ? new ZipArchive(bytes, limits) : null;
  const format = detectFormat(bytes, archive, hints);
  const sink = new TextSink(limits.maxCharacters);
  let isTruncated = false;
  try {
    // Formats without an archive do not ask for it.
    await extractors[format]({ bytes, archive: archive as ZipArchive, sink, limits });
  } catch (error) {
    if (!(error instanceof TextLimitReached)) throw error;
    isTruncated = true;
  }
  const text = sink.text();
  if (text.trim() === '') throw new DocumentFault('holds no text');
  return { format, text, isTruncated };
}
