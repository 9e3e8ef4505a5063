import { corrupt, DocumentFault, encrypted } from '../document-fault.js';
import type { DocumentLimits } from '../document-limits.js';
import type { TextSink } from '../text-sink.js';

/** The part of PDF.js that is used. */
interface PdfPage {
  getTextContent(): Promise<{ items: readonly ({ str: string; hasEOL: boolean } | { type: string })[] }>;
  cleanup(): boolean;
}

interface PdfDocument {
  numPages: number;
  getPage(page: number): Promise<PdfPage>;
}

/**
 * Writes the text of every page in reading order, with an empty line between pages. Nothing is rendered, no script of
 * the document runs, and nothing outside the file is read.
 */
export async function extractPdf(bytes: Buffer, sink: TextSink, { maxPages }: DocumentLimits): Promise<void> {
  const pdf = await openPdf(bytes);
  if (pdf.numPages > maxPages) throw new DocumentFault(`has more than ${maxPages} pages`);
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number).catch(unreadable);
    const { items } = await page.getTextContent().catch(unreadable);
    for (const item of items) {
      if (!('str' in item)) continue;
      sink.write(item.str);
      if (item.hasEOL) sink.endLine();
    }
    sink.endParagraph();
    page.cleanup();
  }
}

async function openPdf(bytes: Buffer): Promise<PdfDocument> {
  const { getDocumentProxy } = await import('unpdf');
  // PDF.js takes the array over, so it gets its own.
  const data = new Uint8Array(bytes);
  const options = {
    verbosity: 0,
    isEvalSupported: false,
    enableXfa: false,
    disableFontFace: true,
    useSystemFonts: false,
    useWasm: false,
    // Images are never shown; without decoding them, they cannot exhaust the memory.
    maxImageSize: 1,
  };
  try {
    return (await getDocumentProxy(data, options)) as unknown as PdfDocument;
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException') throw encrypted();
    throw corrupt('PDF');
  }
}

function unreadable(): never {
  throw corrupt('PDF');
}
