import { type XmlHandler, readXml } from '../containers/xml-reader.js';
import type { ZipArchive } from '../containers/zip-archive.js';
import type { TextSink } from '../text-sink.js';
import { mainPartOf, readPart, relationshipsOf } from './office-package.js';

const notes = ['footnotes', 'endnotes'];

/**
 * Writes the paragraphs of a Word document: headings as `#`, list items as `-`, the cells of a table row separated by
 * `|`, then the footnotes and endnotes. Deleted text and the code of fields are left out.
 */
export function extractDocx(archive: ZipArchive, sink: TextSink): void {
  const main = mainPartOf(archive, 'word/document.xml');
  readXml(readPart(archive, main), paragraphsTo(sink));
  for (const { type, target } of relationshipsOf(archive, main)) {
    const content = notes.includes(type) ? archive.read(target) : null;
    if (content === null) continue;
    sink.endParagraph();
    readXml(content, paragraphsTo(sink));
  }
}

function paragraphsTo(sink: TextSink): XmlHandler {
  /** Texts of a shape stand twice: in the form of newer programs and in a fallback. */
  let fallbacks = 0;
  let isText = false;
  let inTabs = false;
  let prefix = '';
  let cell = 0;
  let cellHasText = false;
  const rows: number[] = [];
  const write = (text: string): void => {
    if (fallbacks > 0 || text === '') return;
    sink.write(prefix + text);
    prefix = '';
    cellHasText = true;
  };
  const breakLine = (): void => {
    if (rows.length > 0) write(' ');
    else sink.endLine();
  };
  const opened: Record<string, (attributes: Readonly<Record<string, string>>) => void> = {
    Fallback: () => (fallbacks += 1),
    t: () => (isText = true),
    tabs: () => (inTabs = true),
    tab: () => inTabs || write('\t'),
    br: breakLine,
    cr: breakLine,
    noBreakHyphen: () => write('-'),
    p: () => {
      prefix = '';
      if (cellHasText && rows.length > 0) write(' ');
    },
    pStyle: ({ 'w:val': style }) => {
      const level = /^(?:heading ?([1-6])|(title))$/i.exec(style ?? '');
      if (level !== null) prefix ||= `${'#'.repeat(Number(level[1] ?? 1))} `;
    },
    numPr: () => (prefix ||= '- '),
    tr: () => {
      rows.push(cell);
      cell = 0;
    },
    tc: () => {
      cell += 1;
      if (cell > 1) write(' | ');
      cellHasText = false;
    },
  };
  const closed: Record<string, () => void> = {
    Fallback: () => (fallbacks -= 1),
    t: () => (isText = false),
    tabs: () => (inTabs = false),
    p: () => {
      prefix = '';
      if (rows.length === 0) sink.endParagraph();
    },
    tr: () => {
      cell = rows.pop() ?? 0;
      sink.endLine();
    },
    tbl: () => sink.endParagraph(),
  };
  return {
    open: (name, attributes) => void opened[name]?.(attributes),
    close: (name) => void closed[name]?.(),
    text: (text) => {
      if (isText) write(text);
    },
  };
}
