/** What a JSON text says and `JSON.parse` loses. */
export type LostDetail =
  /** An integer that no double equals. */
  | { kind: 'integer'; path: (string | number)[]; value: bigint }
  /** The names in the object `properties` of the object at the path, some of which JavaScript moves to its front. */
  | { kind: 'order'; path: (string | number)[]; names: string[] };

/** Doubles hold all integers of fewer digits. */
const longDigits = /\d{16}/;
const integerName = /"\d{1,10}"/;
const numberToken = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const digitOrMinus = /[-\d]/;

/** A list or object that the reader is in. */
interface OpenContainer {
  /** Of a list; -1 in an object. */
  index: number;
  /** Of an object: where the text has the name of the member. */
  name: Range;
  /** Of an object `properties`: where it has all names. */
  names: Range[] | null;
}

type Range = [start: number, end: number];

/** Finds what `JSON.parse` loses, in one pass over a valid text. Most texts take no pass. */
export function* lostDetails(text: string): Generator<LostDetail, void> {
  if (longDigits.test(text) || integerName.test(text)) yield* new SourceReader(text).read();
}

/** Whether doubles hold all integers of a valid JSON text. */
export function isExactJson(text: string): boolean {
  for (const { kind } of lostDetails(text)) if (kind === 'integer') return false;
  return true;
}

class SourceReader {
  private readonly open: OpenContainer[] = [];
  private position = 0;
  private isAtName = false;

  constructor(private readonly text: string) {}

  *read(): Generator<LostDetail, void> {
    while (this.position < this.text.length) {
      const character = this.text[this.position] as string;
      if (character === '"') this.readString();
      else if (digitOrMinus.test(character)) {
        const value = this.readInteger();
        if (value !== null) yield { kind: 'integer', path: this.pathOf(this.open), value };
      } else {
        const names = this.readPunctuation(character);
        if (names !== null) yield { kind: 'order', path: this.pathOf(this.open.slice(0, -1)), names };
        this.position++;
      }
    }
  }

  /** The names of an object `properties` that ends here and has another order than its text; else null. */
  private readPunctuation(character: string): string[] | null {
    const container = this.open.at(-1);
    if (character === '{' || character === '[') {
      const isProperties =
        character === '{' && container?.index === -1 && this.slice(container.name) === '"properties"';
      this.open.push({ index: character === '[' ? 0 : -1, name: [0, 0], names: isProperties ? [] : null });
      this.isAtName = character === '{';
    } else if (character === '}' || character === ']') {
      const ended = this.open.pop();
      if (ended?.names) return this.movedNames(ended.names);
    } else if (character === ',' && container !== undefined) {
      if (container.index >= 0) container.index++;
      else this.isAtName = true;
    }
    return null;
  }

  private movedNames(ranges: readonly Range[]): string[] | null {
    const names = [...new Set(ranges.map((range) => JSON.parse(this.slice(range)) as string))];
    const order = Object.keys(Object.fromEntries(names.map((name) => [name, true])));
    return order.every((name, index) => name === names[index]) ? null : names;
  }

  private readString(): void {
    const start = this.position;
    let end = start;
    do end = this.text.indexOf('"', end + 1);
    while (this.isEscaped(end));
    this.position = end < 0 ? this.text.length : end + 1;
    const container = this.open.at(-1);
    if (this.isAtName && container !== undefined) {
      container.name = [start, this.position];
      container.names?.push(container.name);
    }
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

  private pathOf(containers: readonly OpenContainer[]): (string | number)[] {
    return containers.map(({ index, name }) => (index >= 0 ? index : (JSON.parse(this.slice(name)) as string)));
  }

  private slice([start, end]: Range): string {
    return this.text.slice(start, end);
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
