import { posix } from 'node:path';
import { corrupt, DocumentFault, encrypted } from '../document-fault.js';
import type { DocumentLimits } from '../document-limits.js';
import { readXml } from '../containers/xml-reader.js';
import type { ZipArchive } from '../containers/zip-archive.js';
import type { TextSink } from '../text-sink.js';

const blocks = new Set(
  'address article aside blockquote dd div dl dt figcaption figure footer header hr main nav ol p pre section table ul'.split(
    ' ',
  ),
);
const invisible = new Set(['head', 'script', 'style', 'template']);
const headings = /^h[1-6]$/;

/** Writes the chapters of a book (EPUB 3.3, and EPUB 2) in the order of its spine. */
export function extractEpub(archive: ZipArchive, sink: TextSink, { maxPages }: DocumentLimits): void {
  const chapters = chaptersOf(archive);
  if (chapters.length > maxPages) throw new DocumentFault(`has more than ${maxPages} chapters`);
  const sealed = encryptedFiles(archive);
  for (const path of chapters) {
    if (sealed.has(path)) throw encrypted();
    const content = archive.read(path);
    if (content === null) continue;
    writeHtml(content, sink);
    sink.endParagraph();
  }
}

function chaptersOf(archive: ZipArchive): string[] {
  let root = '';
  readXml(required(archive, 'META-INF/container.xml'), {
    open: (name, { 'full-path': path }) => {
      if (name === 'rootfile') root ||= path ?? '';
    },
  });
  const items = new Map<string, string>();
  const spine: string[] = [];
  readXml(required(archive, root), {
    open: (name, { id, href, idref }) => {
      if (name === 'item' && id !== undefined && href !== undefined) items.set(id, href);
      if (name === 'itemref' && idref !== undefined) spine.push(idref);
    },
  });
  const folder = posix.dirname(root);
  return spine.flatMap((id) => {
    const href = items.get(id);
    return href === undefined ? [] : [posix.join(folder, decoded(href.split('#', 1).join('')))];
  });
}

/** Returns the files whose content is encrypted. Fonts may be, too; they are not read. */
function encryptedFiles(archive: ZipArchive): Set<string> {
  const files = new Set<string>();
  const content = archive.read('META-INF/encryption.xml');
  if (content === null) return files;
  readXml(content, {
    open: (name, { URI: path }) => {
      if (name === 'CipherReference' && path !== undefined) files.add(decoded(path));
    },
  });
  return files;
}

function required(archive: ZipArchive, path: string): Buffer {
  const content = archive.read(path);
  if (content === null) throw corrupt('EPUB');
  return content;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Writes the visible text of a page: one paragraph per block, white space as a browser shows it. */
function writeHtml(content: Buffer, sink: TextSink): void {
  let hidden = 0;
  let preformatted = 0;
  let space = false;
  let lineIsEmpty = true;
  let prefix = '';
  const endBlock = (): void => {
    sink.endParagraph();
    lineIsEmpty = true;
    space = false;
  };
  const endLine = (): void => {
    sink.endLine();
    lineIsEmpty = true;
    space = false;
  };
  const write = (text: string): void => {
    sink.write(`${prefix}${space && !lineIsEmpty ? ' ' : ''}${text}`);
    prefix = '';
    lineIsEmpty = false;
    space = false;
  };
  const open = (name: string): void => {
    if (invisible.has(name)) hidden += 1;
    if (name === 'pre') preformatted += 1;
    if (blocks.has(name) || headings.test(name)) endBlock();
    if (headings.test(name)) prefix = `${'#'.repeat(Number(name[1]))} `;
    if (name === 'br' || name === 'tr' || name === 'li') endLine();
    if (name === 'li') prefix = '- ';
    if ((name === 'td' || name === 'th') && !lineIsEmpty) {
      space = true;
      write('|');
      space = true;
    }
  };
  const close = (name: string): void => {
    if (invisible.has(name)) hidden -= 1;
    if (name === 'pre') preformatted -= 1;
    if (blocks.has(name) || headings.test(name)) endBlock();
    if (name === 'li' || name === 'tr') endLine();
    if (headings.test(name)) prefix = '';
  };
  const text = (words: string): void => {
    if (hidden > 0) return;
    if (preformatted > 0) return write(words);
    const visible = words.replaceAll(/[\t\n\r\f ]+/g, ' ');
    if (visible.startsWith(' ')) space = true;
    // A non-breaking space is part of the text.
    const trimmed = visible.replaceAll(/^ | $/g, '');
    if (trimmed === '') return;
    write(trimmed);
    space = visible.endsWith(' ');
  };
  readXml(content, { open, close, text }, { html: true });
}
