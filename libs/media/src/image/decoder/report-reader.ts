import { type DecodeReport, prefixBytes, readPrefix, startMarkBytes } from './decoder-protocol.js';

const maxHeadBytes = 1_024;

/** A report and its pixels, as the decoder sent them. */
export interface Decoded {
  report: DecodeReport;
  body: Buffer;
}

/** Reads one report from the parts of a decoder's output. The decoder is not trusted: lengths and form are checked. */
export class ReportReader {
  private head = Buffer.alloc(0);
  private report: DecodeReport | null = null;
  private body = Buffer.alloc(0);
  private filled = 0;

  constructor(
    /** Whether the mark of the start was read. */
    private hasStarted: boolean,
    private readonly maxBodyBytes: number,
  ) {}

  /** Returns the report when it is complete, null before, and `invalid` for what no decoder of ours sends. */
  add(part: Buffer): Decoded | 'invalid' | null {
    let rest = part;
    if (!this.hasStarted) {
      this.hasStarted = true;
      rest = rest.subarray(startMarkBytes);
    }
    if (this.report === null) {
      this.head = Buffer.concat([this.head, rest]);
      if (this.head.length < prefixBytes) return null;
      const { headBytes, bodyBytes } = readPrefix(this.head);
      if (headBytes > maxHeadBytes || bodyBytes > this.maxBodyBytes) return 'invalid';
      const end = prefixBytes + headBytes;
      if (this.head.length < end) return null;
      this.report = parseReport(this.head.toString('utf8', prefixBytes, end));
      if (this.report === null) return 'invalid';
      this.body = Buffer.allocUnsafeSlow(bodyBytes);
      rest = this.head.subarray(end);
    }
    if (rest.length > this.body.length - this.filled) return 'invalid';
    this.filled += rest.copy(this.body, this.filled);
    return this.filled === this.body.length ? { report: this.report, body: this.body } : null;
  }
}

function parseReport(text: string): DecodeReport | null {
  const report = parsed(text);
  if (typeof report !== 'object' || report === null) return null;
  const { fault, cpuSeconds, hasAlpha, ...sizes } = report as Record<string, unknown>;
  if (typeof cpuSeconds !== 'number') return null;
  if (fault !== undefined) return isFault(fault) ? { fault, cpuSeconds } : null;
  const { storedWidth, storedHeight, width, height } = sizes;
  const isSize = [storedWidth, storedHeight, width, height].every((side) => Number.isSafeInteger(side));
  return isSize && typeof hasAlpha === 'boolean' ? (report as DecodeReport) : null;
}

function isFault(fault: unknown): fault is 'header' | 'pixels' | 'memory' {
  return fault === 'header' || fault === 'pixels' || fault === 'memory';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
