const quote = 0x22;
const comma = 0x2c;
const zero = 0x30;
const colon = 0x3a;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** Deepest nesting that is followed; call traces of a node are nested about 2,000 times at most. */
const maxDepth = 8_192;

/** Bytes `[start, end)` of a value. */
export interface Span {
  start: number;
  end: number;
}

/** Why bytes are no JSON value, and where. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';

  constructor(
    readonly problem: string,
    readonly position: number,
  ) {
    super(`${problem} at position ${position}`);
  }
}

/**
 * Walks over JSON without building its values, so that no number is rounded and nothing is printed again. Takes time in
 * proportion to the bytes and memory in proportion to the depth. Strings are not checked for control characters and
 * escapes.
 */
export class JsonCursor {
  position = 0;

  constructor(private readonly bytes: Buffer) {}

  /** The next byte that is no white space; -1 at the end. */
  peek(): number {
    for (;;) {
      const byte = this.bytes[this.position] ?? -1;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.position += 1;
    }
  }

  /** Passes one value of any kind and returns where it is. */
  skipValue(): Span {
    this.peek();
    const start = this.position;
    const closers: number[] = [];
    do {
      const opened = this.enter();
      if (opened !== null) {
        if (closers.length === maxDepth) throw this.fault('is nested too deeply');
        closers.push(opened);
        if (this.peek() !== opened) {
          if (opened === closeObject) this.skipName();
          continue;
        }
      }
      this.leave(closers);
    } while (closers.length > 0);
    return { start, end: this.position };
  }

  /** Calls `visit` with each name of an object; it must pass the value. The cursor is at the object. */
  readObject(visit: (name: string, nameSpan: Span) => void): void {
    this.expect(openObject, 'must be an object');
    if (this.peek() !== closeObject) {
      do {
        const span = this.skipName();
        visit(this.textOf(span), span);
      } while (this.passComma());
    }
    this.expect(closeObject, 'has an object that does not end');
  }

  /** Calls `visit` with each index of an array; it must pass the value. The cursor is at the array. */
  readArray(visit: (index: number) => void): void {
    this.expect(openArray, 'must be an array');
    let index = 0;
    if (this.peek() !== closeArray) {
      do visit(index++);
      while (this.passComma());
    }
    this.expect(closeArray, 'has an array that does not end');
  }

  /** Nothing but white space may follow. */
  expectEnd(): void {
    if (this.peek() !== -1) throw this.fault('goes on behind its end');
  }

  get isAtArray(): boolean {
    return this.peek() === openArray;
  }

  get isAtObject(): boolean {
    return this.peek() === openObject;
  }

  /** The text of a string. */
  textOf({ start, end }: Span): string {
    const text = this.bytes.toString('utf8', start, end);
    if (!text.includes('\\')) return text.slice(1, -1);
    try {
      return JSON.parse(text) as string;
    } catch {
      throw new JsonFault('has a string that cannot be read', start);
    }
  }

  fault(problem: string): JsonFault {
    return new JsonFault(problem, this.position);
  }

  /** Passes a scalar, or the start of a container, whose closing byte it returns. */
  private enter(): number | null {
    const byte = this.peek();
    if (byte === openObject || byte === openArray) {
      this.position += 1;
      return byte === openObject ? closeObject : closeArray;
    }
    if (byte === quote) this.skipString();
    else this.skipScalar();
    return null;
  }

  /** Behind a value: passes what closes, up to the next value. */
  private leave(closers: number[]): void {
    while (closers.length > 0) {
      const byte = this.peek();
      if (byte === closers.at(-1)) {
        this.position += 1;
        closers.pop();
      } else {
        this.expect(comma, 'lacks a comma');
        if (closers.at(-1) === closeObject) this.skipName();
        return;
      }
    }
  }

  /** Passes a name and its colon; returns where the name is. */
  private skipName(): Span {
    if (this.peek() !== quote) throw this.fault('lacks a name');
    const start = this.position;
    this.skipString();
    const end = this.position;
    this.expect(colon, 'lacks a colon');
    return { start, end };
  }

  private skipString(): void {
    const { bytes } = this;
    const first = this.position + 1;
    for (let from = first; ;) {
      const end = bytes.indexOf(quote, from);
      if (end < 0) throw this.fault('has a string that does not end');
      let slashes = 0;
      // Each backslash is counted once: those of this string in front of the last quote were followed by it.
      while (end - slashes > from && bytes[end - slashes - 1] === backslash) slashes += 1;
      if (slashes % 2 === 0) {
        this.position = end + 1;
        return;
      }
      from = end + 1;
    }
  }

  private skipScalar(): void {
    const { bytes, position: start } = this;
    let end = start;
    while (isDigit(bytes[end] ?? 0)) end += 1;
    // Whole numbers, of which long lists consist.
    const isWhole = end > start && (end - start === 1 || bytes[start] !== zero) && !isScalarByte(bytes[end] ?? 0);
    if (isWhole) {
      this.position = end;
      return;
    }
    while (isScalarByte(bytes[end] ?? 0)) end += 1;
    // Longer numbers are none that a chain has.
    const text = end - start > 400 ? '' : bytes.toString('latin1', start, end);
    if (!scalar.test(text)) throw this.fault('has a value that is no JSON');
    this.position = end;
  }

  private passComma(): boolean {
    if (this.peek() !== comma) return false;
    this.position += 1;
    return true;
  }

  private expect(byte: number, problem: string): void {
    if (this.peek() !== byte) throw this.fault(problem);
    this.position += 1;
  }
}

const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= 0x39;
}

/** Letters, digits and what numbers are made of. */
function isScalarByte(byte: number): boolean {
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  return isLetter || isDigit(byte) || byte === 0x2b || byte === 0x2d || byte === 0x2e;
}
