/*
 * A NOTIFY payload must be shorter than 8000 bytes. Longer texts travel in parts, `<sender>.<number>.<index>/<count>:`
 * before each. The prefix also makes every payload of a transaction different: Postgres folds equal ones into one.
 */

/** Bytes of text in one part; leaves room for the prefix. */
const partBytes = 7_800;

/** Splits a text into payloads. `number` differs for each text of a sender. */
export function toParts(sender: string, number: number, text: string): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length || pieces.length === 0;) {
    let end = Math.min(start + partBytes, bytes.length);
    // A text is never cut inside a character: continuation bytes are 10xxxxxx.
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    pieces.push(bytes.toString('utf8', start, end));
    start = end;
  }
  return pieces.map((piece, index) => `${sender}.${number}.${index}/${pieces.length}:${piece}`);
}

/** Returned instead of a text that is too large to be collected. */
export const tooLarge = Symbol('too large');

interface IncompleteText {
  readonly id: string;
  readonly count: number;
  readonly pieces: string[];
}

/**
 * Joins the parts of texts again; one per channel. Parts of one text are notifications of one statement, so no other
 * text comes between them. Only one text at a time is collected, and no sender can keep it from being completed.
 */
export class PartCollector {
  private incomplete: IncompleteText | null = null;

  constructor(private readonly maxBytes: number) {}

  /**
   * Returns the complete text once its last part is here, and null before. A text with a missing part is never
   * returned. Returns `tooLarge` for the first part of a text that is not collected.
   */
  add(payload: string): string | typeof tooLarge | null {
    const match = /^([^.]+\.\d+)\.(\d+)\/(\d+):/.exec(payload);
    if (match === null) return null;
    const [prefix, id = '', index = '0', count = '1'] = match;
    const piece = payload.slice(prefix.length);
    if (count === '1') return piece;
    if (index === '0') {
      const isTooLarge = Number(count) * partBytes > this.maxBytes;
      this.incomplete = isTooLarge ? null : { id, count: Number(count), pieces: [] };
      if (isTooLarge) return tooLarge;
    }
    const text = this.incomplete;
    if (text === null) return null;
    if (text.id !== id || text.count !== Number(count) || text.pieces.length !== Number(index)) {
      this.incomplete = null;
      return null;
    }
    text.pieces.push(piece);
    if (text.pieces.length < text.count) return null;
    this.incomplete = null;
    return text.pieces.join('');
  }
}
