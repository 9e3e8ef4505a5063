/** Syntax of a regular expression, as far as its running time depends on it. */
export type Syntax =
  /** One character; `source` is an expression that matches it. */
  | { kind: 'set'; source: string }
  | { kind: 'sequence'; items: Syntax[] }
  | { kind: 'choice'; items: Syntax[] }
  | { kind: 'repeat'; body: Syntax; min: number; max: number }
  | { kind: 'start' }
  /** Matches no character. A lookahead has a body. */
  | { kind: 'assertion'; body: Syntax | null }
  /** A lookbehind, which is matched backwards. */
  | { kind: 'behind'; body: Syntax }
  | { kind: 'reference' };

const assertionGroup = /\(\?(<?)[=!]/y;
const plainGroup = /\((?:\?(?::|<[^>]{1,80}>|[ims]{0,3}(?:-[ims]{1,3})?:))?/y;
const quantifier = /(?:[*+?]|\{(\d{1,6})(?:(,)(\d{0,6}))?\})\??/y;
const escape =
  /\\(?:[pP]\{[^}]{1,80}\}|u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]{1,80}>|[1-9]|[^])/y;

/** Parses the source of an expression that the engine has accepted. */
export function parseExpression(source: string): Syntax {
  return new Parser(source).parse();
}

class Parser {
  private position = 0;

  constructor(private readonly source: string) {}

  parse(): Syntax {
    const whole = this.choice();
    if (this.position < this.source.length) throw new Error(`cannot parse ${this.source} at ${this.position}`);
    return whole;
  }

  private choice(): Syntax {
    const items = [this.sequence()];
    while (this.take('|')) items.push(this.sequence());
    return items.length === 1 && items[0] !== undefined ? items[0] : { kind: 'choice', items };
  }

  private sequence(): Syntax {
    const items: Syntax[] = [];
    while (this.position < this.source.length && !'|)'.includes(this.source.charAt(this.position))) {
      items.push(this.repeated(this.atom()));
    }
    return { kind: 'sequence', items };
  }

  private repeated(body: Syntax): Syntax {
    const found = this.match(quantifier);
    if (found === null) return body;
    const [text, least, comma, most] = found;
    if (least === undefined) {
      return { kind: 'repeat', body, min: text.startsWith('+') ? 1 : 0, max: text.startsWith('?') ? 1 : Infinity };
    }
    const min = Number(least);
    const max = comma === undefined ? min : most === '' || most === undefined ? Infinity : Number(most);
    return { kind: 'repeat', body, min, max };
  }

  private atom(): Syntax {
    const ahead = this.match(assertionGroup);
    if (ahead !== null) {
      const body = this.closed();
      return ahead[1] === '<' ? { kind: 'behind', body } : { kind: 'assertion', body };
    }
    if (this.match(plainGroup) !== null) return this.closed();
    if (this.take('^')) return { kind: 'start' };
    if (this.take('$')) return { kind: 'assertion', body: null };
    if (this.source.charAt(this.position) === '[') return { kind: 'set', source: this.set() };
    const escaped = this.match(escape)?.[0];
    if (escaped === undefined) {
      const character = String.fromCodePoint(this.source.codePointAt(this.position) ?? 0);
      this.position += character.length;
      return { kind: 'set', source: character };
    }
    if (escaped === '\\b' || escaped === '\\B') return { kind: 'assertion', body: null };
    return /^\\(?:[1-9]|k<)/.test(escaped) ? { kind: 'reference' } : { kind: 'set', source: escaped };
  }

  private closed(): Syntax {
    const body = this.choice();
    if (!this.take(')')) throw new Error(`a group of ${this.source} is not closed`);
    return body;
  }

  /** A class in brackets, which may hold others with the flag `v`. */
  private set(): string {
    const start = this.position;
    let depth = 0;
    do {
      const character = this.source.charAt(this.position);
      if (character === '\\') this.position += 1;
      else if (character === '[') depth += 1;
      else if (character === ']') depth -= 1;
      this.position += 1;
      // Without the flag `v`, a bracket in a class is a character.
      if (depth > 1 && !isNested(this.source.slice(start))) depth = 1;
    } while (depth > 0 && this.position < this.source.length);
    return this.source.slice(start, this.position);
  }

  private take(text: string): boolean {
    if (!this.source.startsWith(text, this.position)) return false;
    this.position += text.length;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.source);
    if (found !== null) this.position += found[0].length;
    return found;
  }
}

function isNested(rest: string): boolean {
  return rest.includes('--[') || rest.includes('&&[') || rest.startsWith('[[');
}
