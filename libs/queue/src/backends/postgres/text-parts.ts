/*
 * A NOTIFY payload must be shorter than 8000 bytes. Longer texts travel in parts, `<sender>.<number>.<index>/<count>:`
 * before each. The prefix also makes every payload of a transaction different: Postgres folds equal ones into one.
 */

/** Bytes of text in one part; leaves room for the prefix. */
const partBytes = 7_800;

/** Partially received texts kept per sender: parts of one text arrive together, so more than one means a loss. */
const incompleteTexts = 64;

/** Splits a text into payloads. `number` differs for each text of a sender. */
export function toParts(sender: string, number: number, text: string): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length || pieces.length === 0;) {
    let end = Math.min(start + partBytes, bytes.length);
    // Never inside a character: continuation bytes are 10xxxxxx.
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    pieces.push(bytes.toString('utf8', start, end));
    start = end;
  }
  return pieces.map((piece, index) => `${sender}.${number}.${index}/${pieces.length}:${piece}`);
}

/** Joins the parts of texts again. One per channel. */
export class PartCollector {
  private readonly incomplete = new Map<string, string[]>();

  /** Returns the complete text once its last part is here, else null. A text with a missing part is never returned. */
  add(payload: string): string | null {
    const match = /^([^.]+\.\d+)\.(\d+)\/(\d+):/.exec(payload);
    if (match === null) return null;
    const [prefix, id = '', index = '0', count = '1'] = match;
    const piece = payload.slice(prefix.length);
    if (count === '1') return piece;
    const pieces = this.incomplete.get(id) ?? [];
    if (pieces.length !== Number(index)) {
      this.incomplete.delete(id);
      return null;
    }
    pieces.push(piece);
    if (pieces.length === Number(count)) {
      this.incomplete.delete(id);
      return pieces.join('');
    }
    this.incomplete.set(id, pieces);
    this.forgetOldest();
    return null;
  }

  private forgetOldest(): void {
    const [oldest] = this.incomplete.keys();
    if (this.incomplete.size > incompleteTexts && oldest !== undefined) this.incomplete.delete(oldest);
  }
}
