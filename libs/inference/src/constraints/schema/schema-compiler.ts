import { jsonCharacters } from '../code-points.js';
import { Grammar, type GrammarNode, type GrammarRule } from '../grammar.js';
import { JsonGrammar } from '../json-grammar.js';
import { compilePattern } from '../pattern.js';
import { type CompilePlace, ConstraintRefusal, located } from '../refusal.js';
import type { Regex } from '../regex.js';
import { areDisjoint } from './disjoint-schemas.js';
import { type FlatSchema, flatten, keyOf, type SchemaPart } from './flat-schema.js';
import { ListCompiler } from './list-compiler.js';
import { MemberCompiler } from './member-compiler.js';
import { numberLanguage } from './number-language.js';
import type { SchemaContext } from './schema-context.js';
import { SchemaDocument, type SchemaNode } from './schema-document.js';
import { collectFacts, type SchemaFacts } from './schema-facts.js';

/** A grammar and where its texts begin. */
export interface StartedGrammar {
  grammar: Grammar;
  start: GrammarNode;
}

/**
 * Compiles a JSON Schema to the grammar of the JSON texts that it accepts. A generator that yields often, with the place
 * that it has reached, so that whoever drives it decides how long it may run at a time and in all. Throws `ConstraintRefusal` for what it does not cover.
 */
export function* compileSchema(schema: unknown): Generator<CompilePlace, StartedGrammar> {
  yield { pointer: '#' };
  const grammar = new Grammar();
  const compiler = new SchemaCompiler(new SchemaDocument(schema), grammar);
  const start = grammar.sequence(grammar.lexeme(compiler.json.lead()), yield* compiler.run());
  located('#', () => grammar.finish(start));
  return { grammar, start };
}

/**
 * As `compileSchema`, as a part of a larger grammar, without white space before the value. Behind the `finish` of that,
 * the caller must check that some text matches the node.
 */
export function* compileSchemaInto(grammar: Grammar, schema: unknown): Generator<CompilePlace, GrammarNode> {
  yield { pointer: '#' };
  const firstRule = grammar.rules.length;
  const root = yield* new SchemaCompiler(new SchemaDocument(schema), grammar).run();
  grammar.checkRules(firstRule);
  return root;
}

/** A rule for each set of schemas that one value must satisfy together. */
class SchemaCompiler implements SchemaContext {
  readonly json: JsonGrammar;
  private readonly rules = new Map<string, GrammarRule>();
  private readonly patterns = new Map<string, Regex>();
  private readonly open: { rule: GrammarRule; parts: readonly SchemaPart[] }[] = [];
  private readonly members = new MemberCompiler(this);
  private readonly lists = new ListCompiler(this);

  constructor(
    private readonly document: SchemaDocument,
    readonly grammar: Grammar,
  ) {
    this.json = new JsonGrammar(grammar);
  }

  *run(): Generator<CompilePlace, GrammarNode> {
    const root = this.ruleFor([{ kind: 'whole', node: this.document.root }]);
    for (let item = this.open.shift(); item !== undefined; item = this.open.shift()) {
      const { rule, parts } = item;
      const pointer = rule.pointer || '#';
      yield { pointer };
      rule.body = located(pointer, () => this.compile(parts));
    }
    return root;
  }

  valueOf(schemas: readonly SchemaNode[]): GrammarNode {
    const kept = schemas.filter(({ value }) => value !== true);
    if (kept.some(({ value }) => value === false)) return this.grammar.nothing;
    if (kept.length === 0) return this.json.anyValue();
    return this.ruleFor(kept.map((node) => ({ kind: 'whole', node })));
  }

  stringPattern(pattern: string, place: string): Regex {
    const known = this.patterns.get(pattern);
    if (known !== undefined) return known;
    const regex = located(place, () => compilePattern(this.grammar.arena, pattern, jsonCharacters));
    this.patterns.set(pattern, regex);
    return regex;
  }

  private ruleFor(parts: readonly SchemaPart[]): GrammarRule {
    const key = keyOf(parts);
    const known = this.rules.get(key);
    if (known !== undefined) return known;
    const rule = this.grammar.rule(parts[0]?.node.pointer ?? '');
    this.rules.set(key, rule);
    this.open.push({ rule, parts });
    return rule;
  }

  private compile(parts: readonly SchemaPart[]): GrammarNode {
    const flat = flatten(this.document, parts);
    if (flat === null) return this.grammar.nothing;
    const [group, ...later] = flat.groups;
    if (group === undefined) return this.valueWith(collectFacts(this.document, flat.nodes));
    const shared: SchemaPart[] = [...flat.nodes.map((node): SchemaPart => ({ kind: 'own', node })), ...later];
    const branches = group.branches.map((branch): SchemaPart[] => [...shared, { kind: 'whole', node: branch }]);
    if (group.keyword === 'oneOf') this.checkDisjoint(branches, `${group.node.pointer}/oneOf`);
    return this.grammar.choice(...branches.map((branch) => this.ruleFor(branch)));
  }

  /** More than one branch of a `oneOf` must never hold; where that cannot be seen, the schema is refused. */
  private checkDisjoint(branches: readonly SchemaPart[][], place: string): void {
    const flats = branches.map((branch) => flatten(this.document, branch)).filter((flat) => flat !== null);
    flats.forEach((flat: FlatSchema, index) => {
      for (const other of flats.slice(index + 1)) {
        if (areDisjoint(this.document, flat, other)) continue;
        throw new ConstraintRefusal('a value may match two branches of oneOf; use anyOf, or tell them apart', place);
      }
    });
  }

  private valueWith(facts: SchemaFacts): GrammarNode {
    const { grammar, json } = this;
    if (facts.values !== null) return grammar.choice(...this.listed(facts.values));
    const choices: GrammarNode[] = [];
    const add = (regex: Regex): number => choices.push(grammar.lexeme(regex));
    if (facts.types.has('null')) add(json.oneOf(['null']));
    if (facts.types.has('boolean')) add(json.oneOf(['true', 'false']));
    if (facts.types.has('number')) add(numberLanguage(json, facts));
    if (facts.types.has('string')) add(this.stringLanguage(facts));
    if (facts.types.has('array')) choices.push(this.lists.compile(facts));
    if (facts.types.has('object')) choices.push(this.members.compile(facts));
    return grammar.choice(...choices);
  }

  private stringLanguage({ patterns, minLength, maxLength }: SchemaFacts): Regex {
    const { arena } = this.grammar;
    if (minLength > maxLength) return arena.empty;
    if (patterns.length === 0) return this.json.quoted(arena.repeat(this.json.character, minLength, maxLength));
    const parts = patterns.map(({ pattern, pointer }) => this.stringPattern(pattern, pointer));
    if (minLength > 0 || maxLength < Infinity) {
      parts.push(arena.repeat(this.json.plainCharacter, minLength, maxLength));
    }
    return this.json.quoted(arena.and(...parts));
  }

  /** Listed values: those without members or items are one lexeme. */
  private listed(values: readonly unknown[]): GrammarNode[] {
    const { grammar, json } = this;
    const scalars = values.filter((value) => typeof value !== 'object' || value === null);
    const nodes = values
      .filter((value) => typeof value === 'object' && value !== null)
      .map((value) => this.exact(value));
    if (scalars.length > 0) nodes.push(grammar.lexeme(json.oneOf(scalars.map((value) => JSON.stringify(value)))));
    return nodes;
  }

  private exact(value: unknown): GrammarNode {
    const { grammar, json } = this;
    if (typeof value !== 'object' || value === null) return grammar.text(JSON.stringify(value));
    const comma = grammar.lexeme(json.comma());
    const [opening, closing] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
    const items = Array.isArray(value)
      ? value.map((item) => this.exact(item))
      : Object.entries(value).map(([name, member]) =>
          grammar.sequence(grammar.lexeme(json.name(grammar.arena.text(JSON.stringify(name)))), this.exact(member)),
        );
    const content = items.flatMap((item, index) => (index === 0 ? [item] : [comma, item]));
    return json.enclosed(opening ?? '[', grammar.sequence(...content), closing ?? ']');
  }
}
