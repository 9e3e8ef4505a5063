import { allCodePoints, type CodePointSet, complement, unite, utf8Of } from './code-points.js';
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
const definitionAt = /(?:\s|#[^\n]*\n)*::=/y;
const boundsAt = /\{\s*(\d{1,9})\s*(,\s*(?:(\d{1,9})\s*)?)?\}/y;
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
      if (name === undefined || this.match(definitionAt) === null) throw this.refusal('expected a rule: name ::= …');
      const rule = this.rule(name);
      if (rule.body !== null) throw this.refusal(`the rule ${name} is defined twice`);
      yield { pointer: `the rule ${name}` };
      rule.body = this.nodeOf(this.choice());
      this.skipBlank();
    }
    const start = this.rules.get(startName);
    if (!start?.body) throw new ConstraintRefusal(`there is no rule named ${startName}`);
    for (const { pointer, body } of this.rules.values()) {
      if (body === null) throw new ConstraintRefusal('is used and not defined', pointer);
    }
    this.grammar.finish(start, { cycle: 'begins with itself (left recursion)', nothing: 'no text matches it' });
    return { grammar: this.grammar, start };
  }

  private rule(name: string): GrammarRule {
    const known = this.rules.get(name) ?? this.grammar.rule(`the rule ${name}`);
    this.rules.set(name, known);
    return known;
  }

  private nodeOf(part: Part): GrammarNode {
    return 'node' in part ? part.node : this.grammar.lexeme(part.regex);
  }

  private choice(): Part {
    const parts = this.alternatives(() => this.sequence());
    const regexes = parts.flatMap((part) => ('regex' in part ? part.regex : []));
    if (regexes.length === parts.length) return { regex: this.grammar.arena.or(...regexes) };
    return { node: this.grammar.choice(...parts.map((part) => this.nodeOf(part))) };
  }

  private sequence(): Part {
    const parts: Part[] = [];
    for (let part = this.item(); part !== null; part = this.item()) {
      const last = parts.at(-1);
      if (last !== undefined && 'regex' in last && 'regex' in part) {
        parts[parts.length - 1] = { regex: this.grammar.arena.concat(last.regex, part.regex) };
      } else parts.push(part);
    }
    const [only] = parts;
    if (only === undefined) return { regex: this.grammar.arena.epsilon };
    return parts.length === 1 ? only : { node: this.grammar.sequence(...parts.map((part) => this.nodeOf(part))) };
  }

  /** Null at the end of the sequence. */
  private item(): Part | null {
    this.skipBlank();
    const begun = this.position;
    const next = this.source[this.position];
    if (next === undefined || next === '|' || next === ')') return null;
    const name = this.match(nameAt)?.[0];
    if (name !== undefined) {
      const isDefinition = this.match(definitionAt) !== null;
      if (isDefinition) this.position = begun;
      return isDefinition ? null : this.repeated({ node: this.rule(name) });
    }
    this.position++;
    if (next === '"') return this.repeated(this.literal());
    if (next === '[') return this.repeated({ regex: utf8Of(this.grammar.arena, this.characterClass()) });
    if (next === '.') return this.repeated({ regex: utf8Of(this.grammar.arena, allCodePoints) });
    if (next !== '(') throw this.refusal(`unexpected ${JSON.stringify(next)}`);
    const group = this.choice();
    this.skipBlank();
    if (!this.take(')')) throw this.refusal('an opened ( is not closed');
    return this.repeated(group);
  }

  private repeated(part: Part): Part {
    const bounds = this.bounds();
    if (bounds === null) return part;
    const [min, max] = bounds;
    if (min > max) throw this.refusal('a repetition is out of order');
    const limit = 'regex' in part ? maxRepetition : maxRuleRepetition;
    if (min > limit || (max !== Infinity && max > limit)) {
      throw this.refusal(`repeats more than ${limit} times, which is not supported here`);
    }
    if ('regex' in part) return this.repeated({ regex: this.grammar.arena.repeat(part.regex, min, max) });
    return this.repeated({ node: this.grammar.repeat(part.node, min, max) });
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
