import { CompoundFile } from '../containers/compound-file.js';
import { corrupt, DocumentFault, encrypted } from '../document-fault.js';
import type { DocumentLimits } from '../document-limits.js';
import type { TextSink } from '../text-sink.js';
import { BiffTextReader, recordsFrom, recordTypes } from './biff-records.js';
import { dateOfSerial, isDateFormat, SheetWriter, textOfNumber } from './sheet-writer.js';

const unicodeVersion = 0x0600;
const worksheetType = 0;

const codePages: Readonly<Record<number, string>> = {
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
};

const errorTexts: Readonly<Record<number, string>> = {
  0x00: '#NULL!',
  0x07: '#DIV/0!',
  0x0f: '#VALUE!',
  0x17: '#REF!',
  0x1d: '#NAME?',
  0x24: '#NUM!',
  0x2a: '#N/A',
};

interface Workbook {
  sheets: { name: string; start: number }[];
  strings: string[];
  formats: Map<number, string>;
  /** Number format of each cell format. */
  cellFormats: number[];
  from1904: boolean;
  /** Whether texts are in UTF-16 and not in a code page. */
  isUnicode: boolean;
  decoder: InstanceType<typeof TextDecoder>;
}

/** Writes every sheet of an Excel 5 to 2003 workbook (MS-XLS) as comma-separated values. Throws `DocumentFault`. */
export function extractXls(bytes: Buffer, sink: TextSink, { maxPages }: DocumentLimits): void {
  try {
    const file = new CompoundFile(bytes);
    const stream = file.read('Workbook') ?? file.read('Book');
    if (stream === null) throw corrupt('XLS');
    const workbook = readWorkbook(stream);
    if (workbook.sheets.length > maxPages) throw new DocumentFault(`has more than ${maxPages} sheets`);
    for (const { name, start } of workbook.sheets) writeSheet(stream, start, new SheetWriter(sink, name), workbook);
  } catch (error) {
    throw error instanceof RangeError ? corrupt('XLS') : error;
  }
}

function readWorkbook(stream: Buffer): Workbook {
  const workbook: Workbook = {
    sheets: [],
    strings: [],
    formats: new Map(),
    cellFormats: [],
    from1904: false,
    isUnicode: true,
    decoder: new TextDecoder('windows-1252'),
  };
  let shared: Buffer[] | null = null;
  for (const { type, data } of recordsFrom(stream, 0)) {
    if (type === recordTypes.continue) shared?.push(data);
    else if (type === recordTypes.sharedStrings) shared = [data];
    else if (shared !== null) {
      workbook.strings = sharedStrings(shared);
      shared = null;
    }
    readGlobal(type, data, workbook);
  }
  return workbook;
}

function readGlobal(type: number, data: Buffer, workbook: Workbook): void {
  switch (type) {
    case recordTypes.beginOfPart:
      workbook.isUnicode = data.readUInt16LE(0) === unicodeVersion;
      break;
    case recordTypes.filePass:
      throw encrypted();
    case recordTypes.codePage:
      workbook.decoder = decoderOf(data.readUInt16LE(0));
      break;
    case recordTypes.dateMode:
      workbook.from1904 = data.readUInt16LE(0) === 1;
      break;
    case recordTypes.numberFormat:
      workbook.formats.set(data.readUInt16LE(0), textAt(data, 2, workbook.isUnicode ? 2 : 1, workbook));
      break;
    case recordTypes.cellFormat:
      workbook.cellFormats.push(data.readUInt16LE(2));
      break;
    case recordTypes.sheet:
      if (data.readUInt8(5) !== worksheetType) break;
      workbook.sheets.push({ name: textAt(data, 6, 1, workbook), start: data.readUInt32LE(0) });
      break;
    default:
  }
}

function sharedStrings([first, ...others]: readonly Buffer[]): string[] {
  const reader = new BiffTextReader([(first ?? Buffer.alloc(0)).subarray(8), ...others]);
  const strings: string[] = [];
  while (!reader.isAtEnd) strings.push(reader.text());
  return strings;
}

function textAt(data: Buffer, start: number, lengthBytes: 1 | 2, { isUnicode, decoder }: Workbook): string {
  if (isUnicode) return new BiffTextReader([data.subarray(start)]).text(lengthBytes);
  const length = lengthBytes === 1 ? data.readUInt8(start) : data.readUInt16LE(start);
  return decoder.decode(data.subarray(start + lengthBytes, start + lengthBytes + length));
}

function decoderOf(codePage: number): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(codePages[codePage] ?? `windows-${codePage}`);
  } catch {
    return new TextDecoder('windows-1252');
  }
}

function writeSheet(stream: Buffer, start: number, writer: SheetWriter, workbook: Workbook): void {
  /** The cell whose formula gave a text, which the next record holds. */
  let awaited: { row: number; column: number } | null = null;
  for (const { type, data } of recordsFrom(stream, start)) {
    if (type === recordTypes.formulaText && awaited !== null) {
      writer.cell(awaited.row, awaited.column, textAt(data, 0, 2, workbook));
      awaited = null;
      continue;
    }
    if (type === recordTypes.multipleNumbers) {
      writeNumbers(data, writer, workbook);
      continue;
    }
    const value = valueOf(type, data, workbook);
    if (value === undefined) continue;
    const [row, column] = [data.readUInt16LE(0), data.readUInt16LE(2)];
    if (value === null) awaited = { row, column };
    else writer.cell(row, column, value);
  }
}

/** Returns the text of a cell; undefined for other records, null for a formula whose text follows. */
function valueOf(type: number, data: Buffer, workbook: Workbook): string | null | undefined {
  switch (type) {
    case recordTypes.number:
      return shown(data.readDoubleLE(6), data.readUInt16LE(4), workbook);
    case recordTypes.shortNumber:
      return shown(shortNumber(data.readUInt32LE(6)), data.readUInt16LE(4), workbook);
    case recordTypes.sharedLabel:
      return workbook.strings[data.readUInt32LE(6)] ?? '';
    case recordTypes.label:
    case recordTypes.richText:
      return textAt(data, 6, 2, workbook);
    case recordTypes.booleanOrError:
      return data.readUInt8(7) === 0 ? booleanText(data.readUInt8(6)) : (errorTexts[data.readUInt8(6)] ?? '#ERROR!');
    case recordTypes.formula:
      return formulaResult(data, workbook);
    default:
      return undefined;
  }
}

function formulaResult(data: Buffer, workbook: Workbook): string | null {
  if (data.readUInt16LE(12) !== 0xffff) return shown(data.readDoubleLE(6), data.readUInt16LE(4), workbook);
  const kind = data.readUInt8(6);
  if (kind === 0) return null;
  if (kind === 1) return booleanText(data.readUInt8(8));
  return kind === 2 ? (errorTexts[data.readUInt8(8)] ?? '#ERROR!') : '';
}

function writeNumbers(data: Buffer, writer: SheetWriter, workbook: Workbook): void {
  const row = data.readUInt16LE(0);
  let column = data.readUInt16LE(2);
  for (let position = 4; position + 6 <= data.length - 2; position += 6) {
    const number = shortNumber(data.readUInt32LE(position + 2));
    writer.cell(row, column, shown(number, data.readUInt16LE(position), workbook));
    column += 1;
  }
}

function booleanText(value: number): string {
  return value === 1 ? 'TRUE' : 'FALSE';
}

/** Decodes an RK number: 30 bits of an integer or of a double, optionally in hundredths. */
function shortNumber(encoded: number): number {
  const bits = Buffer.alloc(8);
  bits.writeUInt32LE((encoded & 0xfffffffc) >>> 0, 4);
  const value = (encoded & 2) === 0 ? bits.readDoubleLE(0) : encoded >> 2;
  return (encoded & 1) === 0 ? value : value / 100;
}

function shown(value: number, cellFormat: number, { cellFormats, formats, from1904 }: Workbook): string {
  const format = cellFormats[cellFormat] ?? 0;
  const date = isDateFormat(format, formats.get(format)) ? dateOfSerial(value, { from1904 }) : null;
  return date ?? textOfNumber(value);
}
