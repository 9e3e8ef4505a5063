import { invalidFile } from '../invalid-file.js';

/**
 * Parses the literal that a bundled script exports: `…exports={a:1,b:!0}` or `…exports="…"`. Some packages store a
 * model's JSON and weights in that form. Nothing is executed; anything but a literal is rejected.
 */
export function exportedLiteral(file: string, script: string): unknown {
  const start = /\.exports=(?=[{"'[])/.exec(script);
  if (!start) throw invalidFile(file, 'it exports no literal');
  return new LiteralReader(file, script, start.index + start[0].length).value();
}

const constants: Record<string, unknown> = { '!0': true, '!1': false, null: null, true: true, false: false };

class LiteralReader {
  constructor(
    private readonly file: string,
    private readonly text: string,
    private position: number,
  ) {}

  value(): unknown {
    const next = this.text[this.position];
    if (next === '{') return this.object();
    if (next === '[') return this.list();
    if (next === '"' || next === "'") return this.string(next);
    return this.constant();
  }

  private object(): Record<string, unknown> {
    const members: [string, unknown][] = [];
    this.items('}', () => {
      const name = this.name();
      this.expect(':');
      members.push([name, this.value()]);
    });
    return Object.fromEntries(members);
  }

  private list(): unknown[] {
    const values: unknown[] = [];
    this.items(']', () => values.push(this.value()));
    return values;
  }

  private items(end: string, readOne: () => void): void {
    this.position++;
    while (this.text[this.position] !== end) {
      readOne();
      if (this.text[this.position] !== end) this.expect(',');
    }
    this.position++;
  }

  private name(): string {
    const quote = this.text[this.position];
    return quote === '"' || quote === "'" ? this.string(quote) : this.match(/[\w$]+/y);
  }

  private string(quote: string): string {
    // Base64 strings have megabytes and no escapes, so the end is searched instead of scanned.
    let end = this.text.indexOf(quote, this.position + 1);
    while (end > 0 && this.isEscaped(end)) end = this.text.indexOf(quote, end + 1);
    if (end < 0) throw this.problem();
    const body = this.text.slice(this.position + 1, end);
    this.position = end + 1;
    if (!body.includes('\\')) return body;
    return JSON.parse(`"${body.replaceAll(/\\'/g, "'").replaceAll(/(?<!\\)"/g, '\\"')}"`) as string;
  }

  private isEscaped(index: number): boolean {
    let backslashes = 0;
    while (this.text[index - 1 - backslashes] === '\\') backslashes++;
    return backslashes % 2 === 1;
  }

  private constant(): unknown {
    const word = this.match(/![01]|[\w.+-]+/y);
    if (Object.hasOwn(constants, word)) return constants[word];
    const number = Number(word);
    if (Number.isNaN(number)) throw this.problem();
    return number;
  }

  private expect(character: string): void {
    if (this.text[this.position] !== character) throw this.problem();
    this.position++;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw this.problem();
    this.position += found.length;
    return found;
  }

  private problem(): Error {
    return invalidFile(this.file, `it holds more than a literal at character ${this.position}`);
  }
}
