import { isSliceOver } from './compile-deadline.js';
import { ConstraintRefusal } from './refusal.js';

const maxDepth = 200;
const hexadecimalEscapes: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Reads the text of a grammar, and refuses by its line. */
export abstract class GrammarReader {
  protected position = 0;
  private depth = 0;
  private readonly place = { position: 0, line: 1 };

  /** `blank`, sticky, matches white space and comments; `escapes` are code points by the character behind a backslash. */
  protected constructor(
    protected readonly source: string,
    private readonly syntax: { blank: RegExp; escapes: Readonly<Record<string, number>> },
  ) {}

  /** Counted on from where it was last asked for: a long grammar asks often. */
  protected get line(): number {
    const { place } = this;
    if (this.position < place.position) Object.assign(place, { position: 0, line: 1 });
    for (; place.position < this.position; place.position++) if (this.source[place.position] === '\n') place.line++;
    return place.line;
  }

  protected refusal(reason: string): ConstraintRefusal {
    return new ConstraintRefusal(reason, `line ${this.line}`);
  }

  protected match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.source);
    if (found !== null) this.position = pattern.lastIndex;
    return found;
  }

  protected skipBlank(): void {
    this.match(this.syntax.blank);
  }

  protected take(text: string): boolean {
    if (!this.source.startsWith(text, this.position)) return false;
    this.position += text.length;
    return true;
  }

  /** One or more parts with `|` between them. Yields when its slice is over. */
  protected *alternatives<Part>(read: () => Generator<void, Part>): Generator<void, Part[]> {
    if (++this.depth > maxDepth) throw this.refusal('is nested too deeply');
    const parts = [yield* read()];
    for (this.skipBlank(); this.take('|'); this.skipBlank()) {
      if (isSliceOver()) yield;
      parts.push(yield* read());
    }
    this.depth--;
    return parts;
  }

  /** The code point of an escape whose backslash was read. */
  protected escaped(): number {
    const escape = this.source[this.position++] ?? '';
    const known = this.syntax.escapes[escape];
    if (known !== undefined) return known;
    const digits = hexadecimalEscapes[escape] ?? 0;
    const text = this.source.slice(this.position, this.position + digits);
    const code = Number.parseInt(text, 16);
    if (digits === 0 || text.length < digits || !/^[0-9A-Fa-f]+$/.test(text) || code > 0x10ffff) {
      throw this.refusal(`unknown escape \\${escape}`);
    }
    this.position += digits;
    return code;
  }
}
