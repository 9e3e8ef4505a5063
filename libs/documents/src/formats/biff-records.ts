import { corrupt } from '../document-fault.js';

/** Record types of a workbook stream (MS-XLS 2.3). */
export const recordTypes = {
  formula: 0x0006,
  endOfPart: 0x000a,
  dateMode: 0x0022,
  filePass: 0x002f,
  continue: 0x003c,
  codePage: 0x0042,
  sheet: 0x0085,
  multipleNumbers: 0x00bd,
  richText: 0x00d6,
  cellFormat: 0x00e0,
  sharedStrings: 0x00fc,
  sharedLabel: 0x00fd,
  number: 0x0203,
  label: 0x0204,
  booleanOrError: 0x0205,
  formulaText: 0x0207,
  shortNumber: 0x027e,
  numberFormat: 0x041e,
  beginOfPart: 0x0809,
} as const;

export interface BiffRecord {
  type: number;
  data: Buffer;
  /** Position of the next record. */
  next: number;
}

/** Returns the records from a position to the end of its part; parts inside it, such as charts, are skipped. */
export function* recordsFrom(stream: Buffer, start: number): Generator<BiffRecord> {
  let depth = 0;
  for (let position = start; position + 4 <= stream.length;) {
    const type = stream.readUInt16LE(position);
    const next = position + 4 + stream.readUInt16LE(position + 2);
    if (next > stream.length) throw corrupt('XLS');
    if (type === recordTypes.beginOfPart) depth += 1;
    if (depth <= 1) yield { type, data: stream.subarray(position + 4, next), next };
    if (type === recordTypes.endOfPart) depth -= 1;
    if (depth <= 0) return;
    position = next;
  }
}

/** Reads texts of BIFF8 that may go on in `CONTINUE` records. Throws `RangeError` beyond the end. */
export class BiffTextReader {
  private segment = 0;
  private position = 0;

  constructor(private readonly segments: readonly Buffer[]) {}

  get isAtEnd(): boolean {
    return this.segment >= this.segments.length - 1 && this.position >= this.current.length;
  }

  skip(bytes: number): void {
    let left = bytes;
    while (left > 0) {
      const step = Math.min(left, this.current.length - this.position);
      this.position += step;
      left -= step;
      if (left > 0) this.advance();
    }
  }

  /** Reads a text with its length, of two bytes or one, and its flags in front. */
  text(lengthBytes: 1 | 2 = 2): string {
    const length = lengthBytes === 1 ? this.byte() : this.word();
    const flags = this.byte();
    const runs = (flags & 8) === 0 ? 0 : this.word();
    const extension = (flags & 4) === 0 ? 0 : this.word() + this.word() * 0x10000;
    const text = this.characters(length, (flags & 1) !== 0);
    this.skip(4 * runs + extension);
    return text;
  }

  private characters(length: number, wide: boolean): string {
    const parts: string[] = [];
    let isWide = wide;
    for (let left = length; left > 0;) {
      if (this.position >= this.current.length) {
        this.advance();
        // Each further record says anew how wide its characters are.
        isWide = (this.byte() & 1) !== 0;
      }
      const width = isWide ? 2 : 1;
      const count = Math.min(left, Math.floor((this.current.length - this.position) / width));
      if (count === 0) throw new RangeError('A character is split.');
      const end = this.position + count * width;
      parts.push(this.current.toString(isWide ? 'utf16le' : 'latin1', this.position, end));
      this.position = end;
      left -= count;
    }
    return parts.join('');
  }

  private get current(): Buffer {
    return this.segments[this.segment] ?? Buffer.alloc(0);
  }

  private advance(): void {
    this.segment += 1;
    this.position = 0;
    if (this.segment >= this.segments.length) throw new RangeError('The text has no end.');
  }

  private byte(): number {
    while (this.position >= this.current.length) this.advance();
    const value = this.current.readUInt8(this.position);
    this.position += 1;
    return value;
  }

  private word(): number {
    return this.byte() + this.byte() * 0x100;
  }
}
