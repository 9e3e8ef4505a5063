import { DocumentFault } from '../document-fault.js';
import type { DocumentLimits } from '../document-limits.js';
import { readXml } from '../containers/xml-reader.js';
import type { ZipArchive } from '../containers/zip-archive.js';
import type { TextSink } from '../text-sink.js';
import { mainPartOf, readPart, relationshipsOf } from './office-package.js';
import { dateOfSerial, isDateFormat, SheetWriter, textOfNumber } from './sheet-writer.js';

interface Workbook {
  sheets: { name: string; path: string }[];
  strings: string[];
  /** Whether the cell format of this index shows dates. */
  dateFormats: boolean[];
  from1904: boolean;
}

/** Writes every sheet as comma-separated values: results instead of formulas, dates in ISO 8601. */
export function extractXlsx(archive: ZipArchive, sink: TextSink, { maxPages }: DocumentLimits): void {
  const workbook = readWorkbook(archive);
  if (workbook.sheets.length > maxPages) throw new DocumentFault(`has more than ${maxPages} sheets`);
  for (const { name, path } of workbook.sheets) {
    const content = archive.read(path);
    if (content !== null) writeSheet(content, new SheetWriter(sink, name), workbook);
  }
}

function readWorkbook(archive: ZipArchive): Workbook {
  const main = mainPartOf(archive, 'xl/workbook.xml');
  const links = relationshipsOf(archive, main);
  const targets = new Map(links.map(({ id, target }) => [id, target]));
  const optional = (type: string): Buffer | null => {
    const target = links.find((link) => link.type === type)?.target;
    return target === undefined ? null : archive.read(target);
  };
  const sheets: Workbook['sheets'] = [];
  let from1904 = false;
  readXml(readPart(archive, main), {
    open: (name, { name: title, 'r:id': id, date1904 }) => {
      if (name === 'workbookPr') from1904 = date1904 === '1' || date1904 === 'true';
      const path = name === 'sheet' && id !== undefined ? targets.get(id) : undefined;
      if (path !== undefined) sheets.push({ name: title ?? '', path });
    },
  });
  return {
    sheets,
    strings: sharedStrings(optional('sharedStrings')),
    dateFormats: dates(optional('styles')),
    from1904,
  };
}

function sharedStrings(content: Buffer | null): string[] {
  const strings: string[] = [];
  if (content === null) return strings;
  let parts: string[] = [];
  let isText = false;
  // Readings of Japanese text repeat the text.
  let isReading = false;
  readXml(content, {
    open: (name) => {
      if (name === 'si') parts = [];
      if (name === 't') isText = true;
      if (name === 'rPh') isReading = true;
    },
    close: (name) => {
      if (name === 'si') strings.push(parts.join(''));
      if (name === 't') isText = false;
      if (name === 'rPh') isReading = false;
    },
    text: (text) => {
      if (isText && !isReading) parts.push(text);
    },
  });
  return strings;
}

function dates(content: Buffer | null): boolean[] {
  const codes = new Map<number, string>();
  const formats: boolean[] = [];
  if (content === null) return formats;
  let inCellFormats = false;
  readXml(content, {
    open: (name, { numFmtId, formatCode }) => {
      if (name === 'cellXfs') inCellFormats = true;
      const id = Number(numFmtId ?? 0);
      if (name === 'numFmt' && formatCode !== undefined) codes.set(id, formatCode);
      if (name === 'xf' && inCellFormats) formats.push(isDateFormat(id, codes.get(id)));
    },
    close: (name) => {
      if (name === 'cellXfs') inCellFormats = false;
    },
  });
  return formats;
}

interface Cell {
  row: number;
  column: number;
  type: string;
  isDate: boolean;
}

function writeSheet(content: Buffer, writer: SheetWriter, { strings, dateFormats, from1904 }: Workbook): void {
  let cell: Cell = { row: -1, column: -1, type: 'n', isDate: false };
  let value: string[] = [];
  let inValue = false;
  readXml(content, {
    open: (name, { r, t, s }) => {
      if (name === 'row') cell = { ...cell, row: r === undefined ? cell.row + 1 : Number(r) - 1, column: -1 };
      if (name === 'c') {
        const column = r === undefined ? cell.column + 1 : columnOf(r);
        cell = { row: cell.row, column, type: t ?? 'n', isDate: dateFormats[Number(s ?? 0)] ?? false };
        value = [];
      }
      if (name === 'v' || name === 't') inValue = true;
    },
    close: (name) => {
      if (name === 'v' || name === 't') inValue = false;
      if (name === 'c') writer.cell(cell.row, cell.column, shown(value.join(''), cell, { strings, from1904 }));
    },
    text: (text) => {
      if (inValue) value.push(text);
    },
  });
}

function shown(value: string, { type, isDate }: Cell, book: Pick<Workbook, 'strings' | 'from1904'>): string {
  if (type === 's') return book.strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type !== 'n' || value === '') return value;
  const number = Number(value);
  return (isDate ? dateOfSerial(number, book) : null) ?? textOfNumber(number);
}

/** Returns the column of a reference such as `AB12`, from 0. */
function columnOf(reference: string): number {
  const letters = /^[A-Z]{1,3}/i.exec(reference)?.[0] ?? 'A';
  return [...letters.toUpperCase()].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
