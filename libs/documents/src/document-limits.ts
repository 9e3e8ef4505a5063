const mebibyte = 1024 * 1024;

/** What one document may use. More fails with a `DocumentFault`, except characters. */
export interface DocumentLimits {
  /** Characters of text; a longer text is cut off there and marked as truncated. */
  maxCharacters: number;
  /** Pages of a PDF, slides, sheets, or chapters. */
  maxPages: number;
  /** Files in an archive. */
  maxEntries: number;
  /** Bytes of one unpacked file of an archive. */
  maxEntryBytes: number;
  /** Bytes of all unpacked files together. */
  maxUnpackedBytes: number;
}

export const defaultLimits: DocumentLimits = {
  maxCharacters: 10_000_000,
  maxPages: 2_000,
  maxEntries: 10_000,
  maxEntryBytes: 64 * mebibyte,
  maxUnpackedBytes: 128 * mebibyte,
};

/** Maximum nesting of elements of an XML document. */
export const maxXmlDepth = 256;
