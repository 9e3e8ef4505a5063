/** An integer of a JSON text that no double equals. */
export interface InexactInteger {
  path: (string | number)[];
  /** As the text has it. */
  value: bigint;
}

/** Doubles hold all integers of fewer digits. */
const longDigits = /\d{16}/;
const numberToken = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const digitOrMinus = /[-\d]/;

/** A list or object that the reader is in. */
interface OpenContainer {
  /** Of a list; -1 in an object. */
  index: number;
  /** Of an object: where the text has the name of the member. */
  name: [start: number, end: number];
}

/** Finds the integers that `JSON.parse` changes, in one pass over a valid text. Texts without long numbers take no pass. */
export function* inexactIntegers(text: string): Generator<InexactInteger, void> {
  if (longDigits.test(text)) yield* new IntegerReader(text).read();
}

class IntegerReader {
  private readonly open: OpenContainer[] = [];
  private position = 0;
  private isAtName = false;

  constructor(private readonly text: string) {}

  *read(): Generator<InexactInteger, void> {
    while (this.position < this.text.length) {
      const character = this.text[this.position] as string;
      if (character === '"') this.readString();
      else if (digitOrMinus.test(character)) {
        const value = this.readInteger();
        if (value !== null) yield { path: this.path(), value };
      } else {
        this.readPunctuation(character);
        this.position++;
      }
    }
  }

  private readPunctuation(character: string): void {
    const container = this.open.at(-1);
    if (character === '{' || character === '[') {
      this.open.push({ index: character === '[' ? 0 : -1, name: [0, 0] });
      this.isAtName = character === '{';
    } else if (character === '}' || character === ']') this.open.pop();
    else if (character === ',' && container !== undefined) {
      if (container.index >= 0) container.index++;
      else this.isAtName = true;
    }
  }

  private readString(): void {
    const start = this.position;
    let end = start;
    do end = this.text.indexOf('"', end + 1);
    while (this.isEscaped(end));
    this.position = end < 0 ? this.text.length : end + 1;
    const container = this.open.at(-1);
    if (this.isAtName && container !== undefined) container.name = [start, this.position];
    this.isAtName = false;
  }

  private isEscaped(position: number): boolean {
    let backslashes = 0;
    while (this.text[position - 1 - backslashes] === '\\') backslashes++;
    return backslashes % 2 === 1;
  }

  /** Reads a number; null for one that is no integer, or the integer that a double holds. */
  private readInteger(): bigint | null {
    numberToken.lastIndex = this.position;
    const [token = '-'] = numberToken.exec(this.text) ?? [];
    this.position += token.length;
    if (token.length < 16 || !/^-?\d+$/.test(token) || !Number.isFinite(Number(token))) return null;
    const value = BigInt(token);
    return BigInt(Number(token)) === value ? null : value;
  }

  private path(): (string | number)[] {
    return this.open.map(({ index, name }) => (index >= 0 ? index : (JSON.parse(this.text.slice(...name)) as string)));
  }
}

/** The double closest to an integer that is not above, or not below it. */
export function nearestDouble(value: bigint, direction: 'below' | 'above'): number {
  const rounded = Number(value);
  const isOutside = direction === 'below' ? BigInt(rounded) > value : BigInt(rounded) < value;
  if (!isOutside) return rounded;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, rounded);
  const isAway = (direction === 'above') === rounded > 0;
  view.setBigInt64(0, view.getBigInt64(0) + (isAway ? 1n : -1n));
  return view.getFloat64(0);
}
