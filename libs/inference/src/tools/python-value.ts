const words: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };
const brackets: Readonly<Record<string, { json: string; close: string; jsonClose: string }>> = {
  '[': { json: '[', close: ']', jsonClose: ']' },
  '{': { json: '{', close: '}', jsonClose: '}' },
  // A tuple.
  '(': { json: '[', close: ')', jsonClose: ']' },
};
const jsonEscapes = 'bfnrt"\\';
const otherEscapes: Readonly<Record<string, string>> = { "'": "'", '/': '/', a: '\\u0007', v: '\\u000b', 0: '\\u0000' };
const digitsOf: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const anySpace = /\s/;

/** Translates one Python literal to JSON while it comes. Every JSON value is a literal that stays as it is. */
export class PythonValue {
  isDone = false;
  private json = '';
  private quote: string | null = null;
  /** Of a string: the escape that has begun, with its backslash. */
  private escape = '';
  /** A number or a name. */
  private word = '';
  private comma = '';
  private hasBegun = false;
  private readonly open: { close: string; jsonClose: string }[] = [];

  /** True for a number or a name, which only what follows ends. */
  get isScalar(): boolean {
    return this.hasBegun && this.open.length === 0 && this.quote === null;
  }

  /** Reads as much of the text as belongs to the value; returns its length, and the JSON that it adds. */
  read(text: string): { length: number; json: string } {
    let length = 0;
    while (length < text.length && !this.isDone) {
      const character = text[length] as string;
      if (this.isScalar && (',}])'.includes(character) || anySpace.test(character))) {
        this.isDone = true;
        break;
      }
      this.hasBegun = true;
      if (this.quote === null) this.outside(character);
      else this.inside(character, this.quote);
      length++;
    }
    if (this.isDone) this.endWord();
    return { length, json: this.take() };
  }

  /** The rest of a number or a name at the end of the text. */
  finish(): string {
    this.endWord();
    return this.take();
  }

  private take(): string {
    const { json } = this;
    this.json = '';
    return json;
  }

  private outside(character: string): void {
    const last = this.open.at(-1);
    if (character === last?.close) {
      this.endWord();
      // Python allows a comma behind the last item.
      this.comma = '';
      this.json += last.jsonClose;
      this.open.pop();
      this.isDone = this.open.length === 0;
      return;
    }
    if (last !== undefined && (character === ',' || character === ':' || anySpace.test(character))) {
      this.endWord();
      if (character === ',') this.comma = ',';
      else if (this.comma === '') this.json += character;
      else this.comma += character;
      return;
    }
    this.json += this.comma;
    this.comma = '';
    const bracket = brackets[character];
    if (bracket !== undefined) {
      this.json += bracket.json;
      this.open.push(bracket);
    } else if (character === '"' || character === "'") {
      this.quote = character;
      this.json += '"';
    } else this.word += character;
  }

  private endWord(): void {
    this.json += words[this.word] ?? this.word;
    this.word = '';
  }

  private inside(character: string, quote: string): void {
    if (this.escape !== '') this.escaped(character);
    else if (character === '\\') this.escape = character;
    else if (character === quote) {
      this.json += '"';
      this.quote = null;
      this.isDone = this.open.length === 0;
    } else this.json += JSON.stringify(character).slice(1, -1);
  }

  private escaped(character: string): void {
    const kind = this.escape[1];
    if (kind === undefined) {
      if (jsonEscapes.includes(character)) this.endEscape(`\\${character}`);
      else if (otherEscapes[character] !== undefined) this.endEscape(otherEscapes[character]);
      else if (digitsOf[character] !== undefined) this.escape += character;
      // Python keeps the backslash of an escape that it does not know.
      else this.endEscape(character === '\n' ? '' : `\\\\${JSON.stringify(character).slice(1, -1)}`);
      return;
    }
    this.escape += character;
    if (this.escape.length < 2 + (digitsOf[kind] ?? 0)) return;
    const code = Number.parseInt(this.escape.slice(2), 16);
    const isPlain = kind === 'u' || !(code <= 0x10ff_ff);
    this.endEscape(isPlain ? this.escape : JSON.stringify(String.fromCodePoint(code)).slice(1, -1));
  }

  private endEscape(json: string): void {
    this.json += json;
    this.escape = '';
  }
}
