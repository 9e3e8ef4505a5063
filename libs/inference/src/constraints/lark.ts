import { type CharacterWriter, unite } from './code-points.js';
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
  return yield* new LarkCompiler(grammar, parseLark(source), write).run();
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
    this.behindTerminals = arena.star(arena.or(...lark.ignored.map((expression) => this.regexOf(expression))));
    for (const definition of lark.definitions.values()) {
      yield { pointer: `line ${definition.line}` };
      if (isTerminalName(definition.name)) this.terminal(definition);
      else this.rule(definition).body = this.nodeOf(this.bodyOf(definition));
    }
    grammar.checkRules(firstRule, 'begins with itself through other rules (left recursion)');
    const start = this.rules.get(startName) ?? grammar.nothing;
    return grammar.sequence(grammar.lexeme(this.behindTerminals), start);
  }

  private rule({ name, line }: LarkDefinition): GrammarRule {
    const known = this.rules.get(name) ?? this.grammar.rule(`line ${line}, the rule ${name}`);
    this.rules.set(name, known);
    return known;
  }

  /** `a: a x | y` is `y x*`. */
  private bodyOf({ name, body }: LarkDefinition): Part {
    const branches = body.kind === 'choice' ? body.items : [body];
    const begins = (branch: LarkExpression): boolean => {
      const [first] = branch.kind === 'sequence' ? branch.items : [branch];
      return first?.kind === 'name' && first.name === name;
    };
    const recursive = branches.filter(begins);
    if (recursive.length === 0) return this.part(body);
    const others = branches.filter((branch) => !begins(branch)).map((branch) => this.part(branch));
    const rests = recursive.map((branch) => this.sequence(branch.kind === 'sequence' ? branch.items.slice(1) : []));
    return this.joined([this.either(others), this.times(this.either(rests), 0, Infinity)]);
  }

  private definition({ name, line }: { name: string; line: number }): LarkDefinition {
    const found = this.lark.definitions.get(name);
    if (found === undefined) throw new ConstraintRefusal(`${name} is not defined`, `line ${line}`);
    return found;
  }

  private nodeOf(part: Part): GrammarNode {
    return 'node' in part ? part.node : this.grammar.lexeme(part.regex);
  }

  private part(expression: LarkExpression): Part {
    switch (expression.kind) {
      case 'choice':
        return this.either(expression.items.map((item) => this.part(item)));
      case 'sequence':
        return this.sequence(expression.items);
      case 'repeat': {
        const body = this.part(expression.body);
        const limit = 'regex' in body ? maxRepetition : maxRuleRepetition;
        checkTimes(expression, limit);
        return this.times(body, expression.min, expression.max);
      }
      case 'name':
        if (isTerminalName(expression.name)) return this.token(expression);
        return { node: this.rule(this.definition(expression)) };
      case 'text':
      case 'range':
      case 'pattern':
        return this.token(expression);
    }
  }

  private token(expression: LarkExpression): Part {
    return { regex: this.grammar.arena.concat(this.regexOf(expression), this.behindTerminals) };
  }

  private sequence(items: readonly LarkExpression[]): Part {
    return this.joined(items.map((item) => this.part(item)));
  }

  private either(parts: readonly Part[]): Part {
    const regexes = parts.flatMap((part) => ('regex' in part ? part.regex : []));
    if (regexes.length === parts.length) return { regex: this.grammar.arena.or(...regexes) };
    return { node: this.grammar.choice(...parts.map((part) => this.nodeOf(part))) };
  }

  /** Neighbours that are regular become one language. */
  private joined(parts: readonly Part[]): Part {
    const kept: Part[] = [];
    let regular: Regex[] = [];
    const join = (): void => {
      // All at once: joining them one by one would copy the ones before each time.
      if (regular.length > 0) kept.push({ regex: this.grammar.arena.concat(...regular) });
      regular = [];
    };
    for (const part of parts) {
      if ('regex' in part) regular.push(part.regex);
      else {
        join();
        kept.push(part);
      }
    }
    join();
    const [only] = kept;
    if (only === undefined) return { regex: this.grammar.arena.epsilon };
    return kept.length === 1 ? only : { node: this.grammar.sequence(...kept.map((part) => this.nodeOf(part))) };
  }

  private times(body: Part, min: number, max: number): Part {
    if ('regex' in body) return { regex: this.grammar.arena.repeat(body.regex, min, max) };
    return { node: this.grammar.repeat(body.node, min, max) };
  }

  private terminal({ name, line, body }: LarkDefinition): Regex {
    const known = this.terminals.get(name);
    if (known !== undefined) return known;
    if (this.open.has(name)) throw new ConstraintRefusal(`the terminal ${name} refers to itself`, `line ${line}`);
    this.open.add(name);
    const regex = this.regexOf(body);
    this.open.delete(name);
    this.terminals.set(name, regex);
    return regex;
  }

  /** The language of a terminal, without what is ignored. */
  private regexOf(expression: LarkExpression): Regex {
    const { arena } = this.grammar;
    const { line } = expression;
    switch (expression.kind) {
      case 'choice':
        return arena.or(...expression.items.map((item) => this.regexOf(item)));
      case 'sequence':
        return arena.concat(...expression.items.map((item) => this.regexOf(item)));
      case 'repeat':
        checkTimes(expression, maxRepetition);
        return arena.repeat(this.regexOf(expression.body), expression.min, expression.max);
      case 'range':
        return this.write(arena, [[expression.first, expression.last]]);
      case 'pattern':
        return located(`line ${line}`, () => compileInnerPattern(arena, expression.pattern, this.write));
      case 'text':
        return arena.concat(...[...expression.text].map((each) => this.character(each, expression.isCaseless)));
      case 'name': {
        const definition = this.definition(expression);
        if (isTerminalName(expression.name)) return this.terminal(definition);
        throw new ConstraintRefusal(`a terminal refers to the rule ${expression.name}`, `line ${line}`);
      }
    }
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
