import { allCodePoints, type CodePointSet, complement, unite, utf8Of } from './code-points.js';
import { atPlace, isSliceOver } from './compile-deadline.js';
import { Grammar, type GrammarNode, type GrammarRule } from './grammar.js';
import { GrammarReader } from './grammar-reader.js';
import { type CompilePlace, ConstraintRefusal } from './refusal.js';
import type { Regex } from './regex.js';
import type { StartedGrammar } from './schema/schema-compiler.js';

/** A part of a rule: a regular language as long as it refers to no rule. */
type Part = { regex: Regex } | { node: GrammarNode };

/** Repetitions of a part that refers to rules; each one is a state of its own. */
const maxRuleRepetition = 1_000;
const maxRepetition = 100_000;

const startName = 'root';
const nameAt = /[A-Za-z_][A-Za-z0-9_-]*/y;
const blankAt = /(?:\s|#[^\n]*)*/y;
const definedAt = /::=/y;
// No two neighbors match the same characters, and none may end in two ways: a long text of blanks is read once.
const boundsAt = /\{\s*(\d{1,9})\s*(?:(,)\s*(?:(\d{1,9})\s*)?)?\}/y;
/** Ranges of one class: each is some expressions of its own. */
const maxRanges = 2_000;
const escapes: Readonly<Record<string, number>> = {
  n: 10,
  r: 13,
  t: 9,
  '\\': 92,
  '"': 34,
  '[': 91,
  ']': 93,
  '-': 45,
  '^': 94,
};

/**
 * Compiles a grammar in the EBNF of GBNF (llama.cpp, `grammars/README.md`): rules `name ::= …` with literals, classes,
 * `.`, groups, `|`, `?`, `*`, `+`, `{m,n}` and comments behind `#`. Texts begin at the rule `root`. Left recursion is
 * refused. Yields the rule that it has reached.
 */
export function* compileEbnf(source: string): Generator<CompilePlace, StartedGrammar> {
  return yield* new EbnfCompiler(source).run();
}

class EbnfCompiler extends GrammarReader {
  private readonly grammar = new Grammar();
  private readonly rules = new Map<string, GrammarRule>();

  constructor(source: string) {
    super(source, { blank: blankAt, escapes });
  }

  *run(): Generator<CompilePlace, StartedGrammar> {
    this.skipBlank();
    while (this.position < this.source.length) {
      const name = this.match(nameAt)?.[0];
      if (name === undefined || !this.takeDefinition()) throw this.refusal('expected a rule: name ::= …');
      const rule = this.rule(name);
      if (rule.body !== null) throw this.refusal(`the rule ${name} is defined twice`);
      const place = { pointer: `the rule ${name}` };
      yield place;
      rule.body = this.nodeOf(yield* atPlace(place, this.choice()));
      this.skipBlank();
    }
    const start = this.rules.get(startName);
    if (!start?.body) throw new ConstraintRefusal(`there is no rule named ${startName}`);
    for (const { pointer, body } of this.rules.values()) {
      if (body === null) throw new ConstraintRefusal('is used and not defined', pointer);
    }
    const reasons = { cycle: 'begins with itself (left recursion)', nothing: 'no text matches it' };
    yield* atPlace({ pointer: '' }, this.grammar.finish(start, reasons));
    return { grammar: this.grammar, start };
  }

  /** Goes on behind `::=` and what is blank before it; false, and nothing, where there is none. */
  private takeDefinition(): boolean {
    const begun = this.position;
    this.skipBlank();
    if (this.match(definedAt) !== null) return true;
    this.position = begun;
    return false;
  }

  private rule(name: string): GrammarRule {
    const known = this.rules.get(name) ?? this.grammar.rule(`the rule ${name}`);
    this.rules.set(name, known);
    return known;
  }

  private nodeOf(part: Part): GrammarNode {
    return 'node' in part ? part.node : this.grammar.lexeme(part.regex);
  }

  private *choice(): Generator<void, Part> {
    const parts = yield* this.alternatives(() => this.sequence());
    const regexes = parts.flatMap((part) => ('regex' in part ? part.regex : []));
    if (regexes.length === parts.length) return { regex: this.grammar.arena.anyOf(regexes) };
    return { node: this.grammar.anyOf(parts.map((part) => this.nodeOf(part))) };
  }

  /** Neighbors that are regular become one language. */
  private *sequence(): Generator<void, Part> {
    const parts: Part[] = [];
    let regular: Regex[] = [];
    for (;;) {
      const part = yield* this.item();
      if (isSliceOver()) yield;
      if (part !== null && 'regex' in part) {
        regular.push(part.regex);
        continue;
      }
      // All at once: joining them one by one would copy the ones before each time.
      if (regular.length > 0) parts.push({ regex: yield* this.grammar.arena.chain(regular) });
      regular = [];
      if (part === null) break;
      parts.push(part);
    }
    const [only] = parts;
    if (only === undefined) return { regex: this.grammar.arena.epsilon };
    return parts.length === 1 ? only : { node: this.grammar.inOrder(parts.map((part) => this.nodeOf(part))) };
  }

  /** Null at the end of the sequence. */
  private *item(): Generator<void, Part | null> {
    this.skipBlank();
    const begun = this.position;
    const next = this.source[this.position];
    if (next === undefined || next === '|' || next === ')') return null;
    const name = this.match(nameAt)?.[0];
    if (name !== undefined) {
      const isDefinition = this.takeDefinition();
      if (isDefinition) this.position = begun;
      return isDefinition ? null : this.repeated({ node: this.rule(name) });
    }
    this.position++;
    if (next === '"') return this.repeated(this.literal());
    if (next === '[') return this.repeated({ regex: utf8Of(this.grammar.arena, this.characterClass()) });
    if (next === '.') return this.repeated({ regex: utf8Of(this.grammar.arena, allCodePoints) });
    if (next !== '(') throw this.refusal(`unexpected ${JSON.stringify(next)}`);
    const group = yield* this.choice();
    this.skipBlank();
    if (!this.take(')')) throw this.refusal('an opened ( is not closed');
    return this.repeated(group);
  }

  private repeated(body: Part): Part {
    let part = body;
    for (let bounds = this.bounds(); bounds !== null; bounds = this.bounds()) {
      const [min, max] = bounds;
      if (min > max) throw this.refusal('a repetition is out of order');
      const limit = 'regex' in part ? maxRepetition : maxRuleRepetition;
      if (min > limit || (max !== Infinity && max > limit)) {
        throw this.refusal(`repeats more than ${limit} times, which is not supported here`);
      }
      part =
        'regex' in part
          ? { regex: this.grammar.arena.repeat(part.regex, min, max) }
          : { node: this.grammar.repeat(part.node, min, max) };
    }
    return part;
  }

  private bounds(): [number, number] | null {
    if (this.take('*')) return [0, Infinity];
    if (this.take('+')) return [1, Infinity];
    if (this.take('?')) return [0, 1];
    if (this.source[this.position] !== '{') return null;
    const found = this.match(boundsAt);
    if (found === null) throw this.refusal('expected a repetition {m}, {m,} or {m,n}');
    const min = Number(found[1]);
    return [min, found[2] === undefined ? min : found[3] === undefined ? Infinity : Number(found[3])];
  }

  private literal(): Part {
    let text = '';
    while (!this.take('"')) text += String.fromCodePoint(this.character('"'));
    return { regex: this.grammar.arena.text(text) };
  }

  private characterClass(): CodePointSet {
    const isNegated = this.take('^');
    const ranges: [number, number][] = [];
    while (!this.take(']')) {
      const first = this.character(']');
      const isRange = this.source[this.position] === '-' && this.source[this.position + 1] !== ']';
      if (isRange) this.position++;
      const last = isRange ? this.character(']') : first;
      if (first > last) throw this.refusal('a range of characters is out of order');
      ranges.push([first, last]);
      if (ranges.length > maxRanges) throw this.refusal(`a class of more than ${maxRanges} ranges is not supported`);
    }
    const set = unite(ranges);
    return isNegated ? complement(set) : set;
  }

  private character(closing: string): number {
    const code = this.source.codePointAt(this.position);
    if (code === undefined || code === 10) throw this.refusal(`expected ${closing} before the end of the line`);
    this.position += code > 0xffff ? 2 : 1;
    return code === 92 ? this.escaped() : code;
  }
}
