import type { DocumentFormat, DocumentHints } from '../document.js';
import { corrupt, DocumentFault, encrypted } from '../document-fault.js';
import { CompoundFile, isCompoundFile } from '../containers/compound-file.js';
import type { ZipArchive } from '../containers/zip-archive.js';
import { encodingOfText } from './plain-text.js';

const pdfMark = Buffer.from('%PDF-');
/** A PDF may begin with foreign bytes. */
const pdfMarkWithin = 1024;

const openXmlType = 'application/vnd.openxmlformats-officedocument';
const binaryFormats: Readonly<Record<string, { format: DocumentFormat; types: readonly string[] }>> = {
  pdf: { format: 'pdf', types: ['application/pdf'] },
  epub: { format: 'epub', types: ['application/epub+zip'] },
  docx: { format: 'docx', types: [`${openXmlType}.wordprocessingml.document`] },
  pptx: { format: 'pptx', types: [`${openXmlType}.presentationml.presentation`] },
  xlsx: { format: 'xlsx', types: [`${openXmlType}.spreadsheetml.sheet`] },
  xls: { format: 'xls', types: ['application/vnd.ms-excel'] },
};

/** Programs save comma-separated and HTML tables under the name and type of XLS. */
const mayBeText: readonly DocumentFormat[] = ['xls'];

export function isZip(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === 0x04034b50;
}

/**
 * Returns the format of a file by its content; name and type only decide whether a text may be one. Throws
 * `DocumentFault` for a file that is empty, of no supported format, or not of the format that it claims.
 */
export function detectFormat(bytes: Buffer, archive: ZipArchive | null, hints: DocumentHints): DocumentFormat {
  if (bytes.length === 0) throw new DocumentFault('is empty');
  if (archive !== null) return formatOfArchive(archive);
  if (isCompoundFile(bytes)) return formatOfCompoundFile(bytes);
  if (bytes.subarray(0, pdfMarkWithin).includes(pdfMark)) return 'pdf';
  const claimed = claimedFormat(hints);
  if (encodingOfText(bytes) === null) {
    if (claimed === null) throw new DocumentFault('is of a type that cannot be read');
    throw corrupt(claimed.toUpperCase());
  }
  if (claimed !== null && !mayBeText.includes(claimed)) throw corrupt(claimed.toUpperCase());
  return 'text';
}

function formatOfArchive(archive: ZipArchive): DocumentFormat {
  if (archive.has('META-INF/container.xml')) return 'epub';
  const folders = new Set(archive.names.map((name) => name.split('/', 1).join('')));
  if (archive.has('[Content_Types].xml')) {
    if (folders.has('word')) return 'docx';
    if (folders.has('ppt')) return 'pptx';
    if (folders.has('xl')) return 'xlsx';
  }
  throw new DocumentFault('is an archive of a type that cannot be read');
}

function formatOfCompoundFile(bytes: Buffer): DocumentFormat {
  const names = new CompoundFile(bytes).names;
  if (names.includes('Workbook') || names.includes('Book')) return 'xls';
  if (names.includes('EncryptedPackage')) throw encrypted();
  throw new DocumentFault('is of an old Office type that cannot be read; save it in a newer format');
}

function claimedFormat({ filename, contentType }: DocumentHints): DocumentFormat | null {
  const extension = /\.([a-z0-9]{1,8})$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
  if (Object.hasOwn(binaryFormats, extension)) return binaryFormats[extension]?.format ?? null;
  // A name of another kind is more precise than the type that a browser guesses.
  if (extension !== '') return null;
  return Object.values(binaryFormats).find(({ types }) => types.includes(contentType))?.format ?? null;
}
