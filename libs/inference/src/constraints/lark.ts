import { type CharacterWriter, unite } from './code-points.js';
import { atPlace, isSliceOver } from './compile-deadline.js';
import type { Grammar, GrammarNode, GrammarRule } from './grammar.js';
import {
  isTerminalName,
  type LarkDefinition,
  type LarkExpression,
  type LarkGrammar,
  parseLark,
} from './lark-parser.js';
import { compileInnerPattern } from './pattern.js';
import { type CompilePlace, ConstraintRefusal, located } from './refusal.js';
import type { Regex } from './regex.js';

/** A part of a rule: a regular language as long as it refers to no rule. */
type Part = { regex: Regex } | { node: GrammarNode };

/** Repetitions of a part that refers to rules; each one is a state of its own. */
const maxRuleRepetition = 1_000;
const maxRepetition = 100_000;

const startName = 'start';

/**
 * Compiles a grammar of the Lark parser, see `parseLark`, into a larger one, as the texts of its rule `start`, their
 * characters written by `write`. A terminal may end wherever its rule goes on: there is no tokenizer that takes the
 * longest. Rules that begin with themselves are repetitions; other left recursion is refused. Yields the place that it
 * has reached. Behind the `finish` of the grammar, the caller must check that some text matches the node.
 */
export function* compileLark(
  grammar: Grammar,
  source: string,
  write: CharacterWriter,
): Generator<CompilePlace, GrammarNode> {
  const lark = yield* atPlace({ pointer: '' }, parseLark(source));
  return yield* new LarkCompiler(grammar, lark, write).run();
}

class LarkCompiler {
  private readonly rules = new Map<string, GrammarRule>();
  private readonly terminals = new Map<string, Regex>();
  /** Terminals that are being compiled. */
  private readonly open = new Set<string>();
  private behindTerminals: Regex;

  constructor(
    private readonly grammar: Grammar,
    private readonly lark: LarkGrammar,
    private readonly write: CharacterWriter,
  ) {
    this.behindTerminals = grammar.arena.epsilon;
  }

  *run(): Generator<CompilePlace, GrammarNode> {
    const { grammar, lark } = this;
    const { arena } = grammar;
    const firstRule = grammar.rules.length;
    if (!lark.definitions.has(startName)) throw new ConstraintRefusal(`there is no rule named ${startName}`);
    const ignored = yield* atPlace({ pointer: '' }, this.regexesOf(lark.ignored));
    this.behindTerminals = arena.star(arena.anyOf(ignored));
    for (const definition of lark.definitions.values()) {
      const place = { pointer: `line ${definition.line}` };
      yield place;
      yield* atPlace(place, this.define(definition));
    }
    const reason = 'begins with itself through other rules (left recursion)';
    yield* atPlace({ pointer: '' }, grammar.checkRules(firstRule, reason));
    const start = this.rules.get(startName) ?? grammar.nothing;
    return grammar.sequence(grammar.lexeme(this.behindTerminals), start);
  }

  private *define(definition: LarkDefinition): Generator<void, void> {
    if (isTerminalName(definition.name)) yield* this.terminal(definition);
    else this.rule(definition).body = this.nodeOf(yield* this.bodyOf(definition));
  }

  private rule({ name, line }: LarkDefinition): GrammarRule {
    const known = this.rules.get(name) ?? this.grammar.rule(`line ${line}, the rule ${name}`);
    this.rules.set(name, known);
    return known;
  }

  /** `a: a x | y` is `y x*`. */
  private *bodyOf({ name, body }: LarkDefinition): Generator<void, Part> {
    const branches = body.kind === 'choice' ? body.items : [body];
    const begins = (branch: LarkExpression): boolean => {
      const [first] = branch.kind === 'sequence' ? branch.items : [branch];
      return first?.kind === 'name' && first.name === name;
    };
    const recursive = branches.filter(begins);
    if (recursive.length === 0) return yield* this.part(body);
    const others = yield* this.parts(branches.filter((branch) => !begins(branch)));
    const rests: Part[] = [];
    for (const branch of recursive) {
      rests.push(yield* this.sequence(branch.kind === 'sequence' ? branch.items.slice(1) : []));
    }
    return yield* this.joined([this.either(others), this.times(this.either(rests), 0, Infinity)]);
  }

  private definition({ name, line }: { name: string; line: number }): LarkDefinition {
    const found = this.lark.definitions.get(name);
    if (found === undefined) throw new ConstraintRefusal(`${name} is not defined`, `line ${line}`);
    return found;
  }

  private nodeOf(part: Part): GrammarNode {
    return 'node' in part ? part.node : this.grammar.lexeme(part.regex);
  }

  private *part(expression: LarkExpression): Generator<void, Part> {
    switch (expression.kind) {
      case 'choice':
        return this.either(yield* this.parts(expression.items));
      case 'sequence':
        return yield* this.sequence(expression.items);
      case 'repeat': {
        const body = yield* this.part(expression.body);
        const limit = 'regex' in body ? maxRepetition : maxRuleRepetition;
        checkTimes(expression, limit);
        return this.times(body, expression.min, expression.max);
      }
      case 'name':
        if (isTerminalName(expression.name)) return yield* this.token(expression);
        return { node: this.rule(this.definition(expression)) };
      case 'text':
      case 'range':
      case 'pattern':
        return yield* this.token(expression);
    }
  }

  private *parts(expressions: readonly LarkExpression[]): Generator<void, Part[]> {
    const parts: Part[] = [];
    for (const expression of expressions) {
      if (isSliceOver()) yield;
      parts.push(yield* this.part(expression));
    }
    return parts;
  }

  private *token(expression: LarkExpression): Generator<void, Part> {
    return { regex: yield* this.grammar.arena.chain([yield* this.regexOf(expression), this.behindTerminals]) };
  }

  private *sequence(items: readonly LarkExpression[]): Generator<void, Part> {
    return yield* this.joined(yield* this.parts(items));
  }

  private either(parts: readonly Part[]): Part {
    const regexes = parts.flatMap((part) => ('regex' in part ? part.regex : []));
    if (regexes.length === parts.length) return { regex: this.grammar.arena.anyOf(regexes) };
    return { node: this.grammar.anyOf(parts.map((part) => this.nodeOf(part))) };
  }

  /** Neighbors that are regular become one language. */
  private *joined(parts: readonly Part[]): Generator<void, Part> {
    const { arena } = this.grammar;
    const kept: Part[] = [];
    let regular: Regex[] = [];
    for (const part of [...parts, null]) {
      if (part !== null && 'regex' in part) {
        regular.push(part.regex);
        continue;
      }
      // All at once: joining them one by one would copy the ones before each time.
      if (regular.length > 0) kept.push({ regex: yield* arena.chain(regular) });
      regular = [];
      if (part !== null) kept.push(part);
    }
    const [only] = kept;
    if (only === undefined) return { regex: arena.epsilon };
    return kept.length === 1 ? only : { node: this.grammar.inOrder(kept.map((part) => this.nodeOf(part))) };
  }

  private times(body: Part, min: number, max: number): Part {
    if ('regex' in body) return { regex: this.grammar.arena.repeat(body.regex, min, max) };
    return { node: this.grammar.repeat(body.node, min, max) };
  }

  private *terminal({ name, line, body }: LarkDefinition): Generator<void, Regex> {
    const known = this.terminals.get(name);
    if (known !== undefined) return known;
    if (this.open.has(name)) throw new ConstraintRefusal(`the terminal ${name} refers to itself`, `line ${line}`);
    this.open.add(name);
    const regex = yield* this.regexOf(body);
    this.open.delete(name);
    this.terminals.set(name, regex);
    return regex;
  }

  /** The language of a terminal, without what is ignored. */
  private *regexOf(expression: LarkExpression): Generator<void, Regex> {
    const { arena } = this.grammar;
    const { line } = expression;
    switch (expression.kind) {
      case 'choice':
        return arena.anyOf(yield* this.regexesOf(expression.items));
      case 'sequence':
        return yield* arena.chain(yield* this.regexesOf(expression.items));
      case 'repeat':
        checkTimes(expression, maxRepetition);
        return arena.repeat(yield* this.regexOf(expression.body), expression.min, expression.max);
      case 'range':
        return this.write(arena, [[expression.first, expression.last]]);
      case 'pattern':
        return located(`line ${line}`, () => compileInnerPattern(arena, expression.pattern, this.write));
      case 'text':
        return yield* this.text(expression);
      case 'name': {
        const definition = this.definition(expression);
        if (isTerminalName(expression.name)) return yield* this.terminal(definition);
        throw new ConstraintRefusal(`a terminal refers to the rule ${expression.name}`, `line ${line}`);
      }
    }
  }

  private *regexesOf(expressions: readonly LarkExpression[]): Generator<void, Regex[]> {
    const regexes: Regex[] = [];
    for (const expression of expressions) {
      if (isSliceOver()) yield;
      regexes.push(yield* this.regexOf(expression));
    }
    return regexes;
  }

  private *text({ text, isCaseless }: { text: string; isCaseless: boolean }): Generator<void, Regex> {
    const characters: Regex[] = [];
    for (const character of text) {
      if (isSliceOver()) yield;
      characters.push(this.character(character, isCaseless));
    }
    return yield* this.grammar.arena.chain(characters);
  }

  private character(character: string, isCaseless: boolean): Regex {
    const forms = isCaseless ? [character.toLowerCase(), character.toUpperCase(), character] : [character];
    const codes = forms.filter((form) => [...form].length === 1).map((form) => form.codePointAt(0) ?? 0);
    return this.write(this.grammar.arena, unite(codes.map((code) => [code, code] as const)));
  }
}

function checkTimes({ min, max, line }: { min: number; max: number; line: number }, limit: number): void {
  if (min <= limit && (max === Infinity || max <= limit)) return;
  throw new ConstraintRefusal(`repeats more than ${limit} times, which is not supported here`, `line ${line}`);
}
