import { isSliceOver } from './compile-deadline.js';
import { GrammarReader } from './grammar-reader.js';
import { commonTerminals } from './lark-terminals.js';
import { ConstraintRefusal } from './refusal.js';

/** A rule or terminal of a Lark grammar as written. */
export interface LarkDefinition {
  name: string;
  line: number;
  body: LarkExpression;
}

export type LarkExpression = { line: number } & (
  | { kind: 'choice' | 'sequence'; items: LarkExpression[] }
  | { kind: 'name'; name: string }
  | { kind: 'text'; text: string; isCaseless: boolean }
  | { kind: 'range'; first: number; last: number }
  | { kind: 'pattern'; pattern: string }
  | { kind: 'repeat'; body: LarkExpression; min: number; max: number }
);

export interface LarkGrammar {
  /** By name. */
  definitions: ReadonlyMap<string, LarkDefinition>;
  /** What may stand behind every terminal. */
  ignored: readonly LarkExpression[];
}

const blankAt = /(?:\s|\/\/[^\n]*|#[^\n]*)*/y;
const blankInLineAt = /[ \t]*/y;
const nameAt = /_?[A-Za-z][A-Za-z0-9_]*/y;
const definitionAt = /[?!]{0,2}(_?[A-Za-z][A-Za-z0-9_]*)(\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:/y;
const aliasAt = /->[ \t]*[A-Za-z_][A-Za-z0-9_]*/y;
const directiveAt = /%[a-z]+/y;
const importAt = /[ \t]+common[ \t]*(?:\.[ \t]*([A-Z_]+)(?:[ \t]*->[ \t]*([A-Z_]+))?|\(([A-Z_,\s]+)\))/y;
const patternAt = /\/((?:\\[^\n]|[^\\/\n])+)\/([a-z]*)/y;
const timesAt = /~[ \t]*(\d{1,9})(?:[ \t]*\.\.[ \t]*(\d{1,9}))?/y;

const escapes: Readonly<Record<string, number>> = {
  n: 10,
  r: 13,
  t: 9,
  f: 12,
  v: 11,
  '\\': 92,
  '"': 34,
  "'": 39,
  '/': 47,
};

/**
 * Reads a grammar of the Lark parser: rules and terminals with literals, patterns, ranges, groups, `|`, `?`, `*`, `+`,
 * `~`, aliases, `%ignore` and the import of common terminals. Refuses all else by its line. Yields when its slice is
 * over.
 */
export function* parseLark(source: string): Generator<void, LarkGrammar> {
  return yield* new LarkParser(source).parse();
}

/** Terminals have upper-case names. */
export function isTerminalName(name: string): boolean {
  return /^_?[A-Z]/.test(name);
}

class LarkParser extends GrammarReader {
  private readonly definitions = new Map<string, LarkDefinition>();
  private readonly ignored: LarkExpression[] = [];

  constructor(source: string) {
    super(source, { blank: blankAt, escapes });
  }

  *parse(): Generator<void, LarkGrammar> {
    for (this.skipBlank(); this.position < this.source.length; this.skipBlank()) {
      const { line } = this;
      const directive = this.match(directiveAt)?.[0];
      if (directive !== undefined) yield* this.directive(directive);
      else yield* this.define(line);
    }
    return { definitions: this.definitions, ignored: this.ignored };
  }

  private *define(line: number): Generator<void, void> {
    const [found, name, parameters] = this.match(definitionAt) ?? [];
    if (found === undefined || name === undefined) throw this.refusal('expected a rule (name: …) or a directive');
    if (parameters !== undefined) throw this.refusal(`${name}${parameters} is a template, which is not supported`);
    this.add({ name, line, body: yield* this.choice() });
  }

  private add(definition: LarkDefinition): void {
    if (this.definitions.has(definition.name)) {
      throw new ConstraintRefusal(`${definition.name} is defined twice`, `line ${definition.line}`);
    }
    this.definitions.set(definition.name, definition);
  }

  private *directive(name: string): Generator<void, void> {
    if (name === '%ignore') this.ignored.push(yield* this.choice());
    else if (name === '%import') this.import();
    else throw this.refusal(`${name} is not supported`);
  }

  private import(): void {
    const [found, only = '', alias, several] = this.match(importAt) ?? [];
    if (found === undefined) throw this.refusal('%import is supported for terminals of `common` only');
    const { line } = this;
    for (const name of several === undefined ? [only] : several.split(',').map((part) => part.trim())) {
      const pattern = commonTerminals.get(name);
      if (pattern === undefined) throw this.refusal(`common.${name} is not supported`);
      this.add({ name: alias ?? name, line, body: { kind: 'pattern', pattern, line } });
    }
  }

  private *choice(): Generator<void, LarkExpression> {
    const { line } = this;
    const items = yield* this.alternatives(() => this.branch());
    return items.length === 1 && items[0] !== undefined ? items[0] : { kind: 'choice', items, line };
  }

  /** A sequence with its name in the tree, which says nothing of the text. */
  private *branch(): Generator<void, LarkExpression> {
    const { line } = this;
    const items: LarkExpression[] = [];
    for (let item = yield* this.item(); item !== null; item = yield* this.item()) {
      if (isSliceOver(4)) yield;
      items.push(item);
    }
    this.match(aliasAt);
    return items.length === 1 && items[0] !== undefined ? items[0] : { kind: 'sequence', items, line };
  }

  /** Null at the end of the sequence. */
  private *item(): Generator<void, LarkExpression | null> {
    this.skipBlank();
    const begun = this.position;
    const { line } = this;
    const next = this.source[begun];
    if (next === undefined || '|)]%'.includes(next) || this.source.startsWith('->', begun)) return null;
    if (this.match(definitionAt) !== null) {
      this.position = begun;
      return null;
    }
    const name = this.match(nameAt)?.[0];
    if (name !== undefined) {
      if (this.source[this.position] === '{') throw this.refusal(`${name}{…} is a template, which is not supported`);
      return this.repeated({ kind: 'name', name, line });
    }
    if (next === '"') return this.repeated(this.textOrRange());
    if (next === '/') return this.repeated(this.pattern());
    if (this.take('(')) return this.repeated(yield* this.group(')'));
    if (this.take('[')) return this.repeated({ kind: 'repeat', body: yield* this.group(']'), min: 0, max: 1, line });
    throw this.refusal(`unexpected ${JSON.stringify(next)}`);
  }

  private *group(closing: string): Generator<void, LarkExpression> {
    const content = yield* this.choice();
    this.skipBlank();
    if (!this.take(closing)) throw this.refusal(`expected ${closing}`);
    return content;
  }

  /** An operator stands in the line of its item: a rule of the next line may begin with `?`. */
  private repeated(body: LarkExpression): LarkExpression {
    const { line } = this;
    this.match(blankInLineAt);
    if (this.take('*')) return { kind: 'repeat', body, min: 0, max: Infinity, line };
    if (this.take('+')) return { kind: 'repeat', body, min: 1, max: Infinity, line };
    if (this.take('?')) return { kind: 'repeat', body, min: 0, max: 1, line };
    const times = this.match(timesAt);
    if (times === null) return body;
    const min = Number(times[1]);
    const max = times[2] === undefined ? min : Number(times[2]);
    if (min > max) throw this.refusal('a repetition is out of order');
    return { kind: 'repeat', body, min, max, line };
  }

  private textOrRange(): LarkExpression {
    const { line } = this;
    const text = this.text();
    if (!this.take('..')) return { kind: 'text', text, isCaseless: this.take('i'), line };
    const [first, last] = [codePointOf(text), codePointOf(this.text())];
    if (first === null || last === null) throw this.refusal('a range is between two characters');
    if (first > last) throw this.refusal('a range of characters is out of order');
    return { kind: 'range', first, last, line };
  }

  private text(): string {
    if (!this.take('"')) throw this.refusal('expected a text in quotes');
    let text = '';
    while (!this.take('"')) {
      const character = this.source[this.position];
      if (character === undefined || character === '\n') throw this.refusal('expected " before the end of the line');
      this.position++;
      text += character === '\\' ? String.fromCodePoint(this.escaped()) : character;
    }
    return text;
  }

  private pattern(): LarkExpression {
    const { line } = this;
    const [found, pattern = '', flags = ''] = this.match(patternAt) ?? [];
    if (found === undefined) throw this.refusal('a pattern ends with / in its line');
    if (flags.replaceAll('u', '') !== '') throw this.refusal(`the flags ${flags} of a pattern are not supported`);
    return { kind: 'pattern', pattern, line };
  }
}

/** Null unless the text is one character. */
function codePointOf(text: string): number | null {
  const [only, ...others] = text;
  return only === undefined || others.length > 0 ? null : (only.codePointAt(0) ?? null);
}
