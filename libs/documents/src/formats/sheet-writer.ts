import type { TextSink } from '../text-sink.js';

/** Maximum columns of a sheet in every format. */
const maxColumns = 16_384;

/** Writes a sheet as comma-separated values (RFC 4180) below its name. Empty rows are left out. */
export class SheetWriter {
  private row = -1;
  private column = 0;

  constructor(
    private readonly sink: TextSink,
    name: string,
  ) {
    sink.endParagraph();
    sink.write(`## ${name}`);
    sink.endLine();
  }

  /** Writes a cell. Cells come row by row, from left to right; both positions count from 0. */
  cell(row: number, column: number, value: string): void {
    if (value === '' || column >= maxColumns) return;
    if (row !== this.row) {
      this.sink.endLine();
      this.row = row;
      this.column = 0;
    }
    if (column > this.column) this.sink.write(','.repeat(column - this.column));
    this.column = Math.max(column, this.column);
    this.sink.write(quoted(value));
  }
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

const msPerDay = 86_400_000;
/** Day 60 of the calendar of 1900 is a 29 February that never was, so the days before it are shifted. */
const fictitiousDay = 60;

/** Returns the date of a serial number as `2026-01-31`, `2026-01-31 13:45:00`, or the time alone; null if out of range. */
export function dateOfSerial(serial: number, { from1904 }: { from1904: boolean }): string | null {
  if (!Number.isFinite(serial) || serial < 0 || serial > 2_958_466) return null;
  const shift = !from1904 && serial >= 1 && serial < fictitiousDay ? 1 : 0;
  const epoch = from1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30);
  const moment = new Date(Math.round((epoch + (serial + shift) * msPerDay) / 1000) * 1000).toISOString();
  const date = moment.slice(0, 10);
  const time = moment.slice(11, 19);
  if (serial < 1 && !from1904) return time;
  return Number.isInteger(serial) ? date : `${date} ${time}`;
}

const builtInDates = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 30, 36, 45, 46, 47, 50, 57]);

/** Whether a number format shows dates or times. Built-in formats have no code. */
export function isDateFormat(id: number, code: string | undefined): boolean {
  if (code === undefined) return builtInDates.has(id);
  // A quotation or a bracket that is not closed lasts to the end.
  const plain = code.replaceAll(/"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]?/g, '');
  return /[dmyhs]/i.test(plain) && !/^general$/i.test(plain.trim());
}

/** Returns a number as a spreadsheet shows it: without the noise of binary fractions. */
export function textOfNumber(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(15))) : '';
}
