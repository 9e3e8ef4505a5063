import { jsonCharacters } from '../code-points.js';
import { atPlace, isSliceOver, locatedAt } from '../compile-deadline.js';
import { Grammar, type GrammarNode, type GrammarRule } from '../grammar.js';
import { JsonGrammar } from '../json-grammar.js';
import { compilePattern } from '../pattern.js';
import { type CompilePlace, ConstraintRefusal, located } from '../refusal.js';
import type { Regex } from '../regex.js';
import { hasText } from '../text-count.js';
import { alternativesBeside, findOverlaps } from './disjoint-schemas.js';
import { type FlatSchema, flatten, keyOf, type SchemaGroup, type SchemaPart } from './flat-schema.js';
import { ListCompiler } from './list-compiler.js';
import { MemberCompiler } from './member-compiler.js';
import { numberLanguage } from './number-language.js';
import { withoutExponent } from './number-ranges.js';
import type { SchemaContext } from './schema-context.js';
import {
  keywordOf,
  SchemaDocument,
  type SchemaNode,
  type SchemaObject,
  type SchemaOptions,
} from './schema-document.js';
import { collectFacts, type SchemaFacts, typeOf } from './schema-facts.js';

/** A grammar and where its texts begin. */
export interface StartedGrammar {
  grammar: Grammar;
  start: GrammarNode;
}

/**
 * Compiles a JSON Schema to the grammar of the JSON texts that it accepts. A generator that yields often, with the place
 * that it has reached, so that whoever drives it decides how long it may run at a time and in all. Throws
 * `ConstraintRefusal` for what it does not cover and for malformed schemas; what it does not cover of a schema that is
 * not strict, it leaves out.
 */
export function* compileSchema(schema: unknown, options: SchemaOptions = {}): Generator<CompilePlace, StartedGrammar> {
  yield { pointer: '#' };
  const grammar = new Grammar();
  const compiler = new SchemaCompiler(new SchemaDocument(schema, options), grammar);
  const start = grammar.sequence(grammar.lexeme(compiler.json.around()), yield* compiler.run());
  yield* locatedAt({ pointer: '#' }, grammar.finish(start));
  return { grammar, start };
}

/**
 * As `compileSchema`, as a part of a larger grammar, without white space before the value. Behind the `finish` of that,
 * the caller must check that some text matches the node.
 */
export function* compileSchemaInto(
  grammar: Grammar,
  schema: unknown,
  options: SchemaOptions = {},
): Generator<CompilePlace, GrammarNode> {
  yield { pointer: '#' };
  const firstRule = grammar.rules.length;
  const root = yield* new SchemaCompiler(new SchemaDocument(schema, options), grammar).run();
  yield* atPlace({ pointer: '#' }, grammar.checkRules(firstRule));
  return root;
}

/** A branch of a `oneOf`, with all that holds beside it. */
interface Branch {
  branch: SchemaNode;
  parts: SchemaPart[];
  facts: SchemaFacts;
}

/** Pairs of branches that accept the same values, beyond which the alternatives to them would be too many. */
const maxOverlaps = 200;

/** Parts of all alternatives of one schema with what holds beside them. */
const maxCombined = 1_000_000;

/** A rule for each set of schemas that one value must satisfy together. */
class SchemaCompiler implements SchemaContext {
  readonly json: JsonGrammar;
  private readonly rules = new Map<string, GrammarRule>();
  private readonly patterns = new Map<string, Regex>();
  private readonly negations = new Map<SchemaNode, SchemaNode>();
  /** Generated alternatives, of which most do not go with what else holds. */
  private readonly reducible = new Set<SchemaNode>();
  /** Rules without a body yet; in the order of their making. */
  private readonly open: { rule: GrammarRule; parts: readonly SchemaPart[] }[] = [];
  private combined = 0;
  private readonly members = new MemberCompiler(this);
  private readonly lists = new ListCompiler(this);

  constructor(
    private readonly document: SchemaDocument,
    readonly grammar: Grammar,
  ) {
    this.json = new JsonGrammar(grammar);
  }

  *run(): Generator<CompilePlace, GrammarNode> {
    yield* atPlace({ pointer: '#' }, this.document.readAnchors());
    const root = this.ruleFor([{ kind: 'whole', node: this.document.root }]);
    for (let index = 0; index < this.open.length; index++) {
      const { rule, parts } = this.open[index] as (typeof this.open)[number];
      const place = { pointer: rule.pointer || '#' };
      yield place;
      rule.body = yield* this.compileOrRelax(parts, place);
    }
    return root;
  }

  valueOf(schemas: readonly SchemaNode[]): GrammarNode {
    const kept = schemas.filter(({ value }) => value !== true);
    if (kept.some(({ value }) => value === false)) return this.grammar.nothing;
    if (kept.length === 0) return this.json.anyValue();
    return this.ruleFor(kept.map((node) => ({ kind: 'whole', node })));
  }

  negationOf(schema: SchemaNode): SchemaNode {
    const known = this.negations.get(schema) ?? this.document.generated(schema.pointer, this.document.negation(schema));
    this.negations.set(schema, known);
    return known;
  }

  generated(pointer: string, schema: SchemaObject): SchemaNode {
    return this.document.generated(pointer, schema);
  }

  *stringsOf(schemas: readonly SchemaNode[]): Generator<void, Regex | null> {
    const parts = schemas.map((node): SchemaPart => ({ kind: 'whole', node }));
    const flat = yield* flatten(this.document, parts);
    if (flat === null) return this.grammar.arena.empty;
    if (flat.groups.length > 0) return null;
    const facts = yield* collectFacts(this.document, flat.nodes);
    const values = yield* this.listedValues(facts);
    if (values === null) {
      return [...facts.types].every((type) => type === 'string') ? yield* this.stringLanguage(facts) : null;
    }
    const strings = values.filter((value) => typeof value === 'string');
    if (strings.length < values.length) return null;
    return yield* this.json.listed(strings.map((value) => JSON.stringify(value)));
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

  /** What cannot be compiled may be any value, unless the schema is strict. */
  private *compileOrRelax(parts: readonly SchemaPart[], place: CompilePlace): Generator<CompilePlace, GrammarNode> {
    try {
      return yield* locatedAt(place, this.compile(parts));
    } catch (error) {
      this.document.leaveOutRefused(error, place.pointer);
      const areObjects = parts.some((part) => part.kind !== 'group' && keywordOf(part.node, 'type') === 'object');
      return areObjects ? this.json.anyObject() : this.json.anyValue();
    }
  }

  private *compile(parts: readonly SchemaPart[]): Generator<void, GrammarNode> {
    const flat = yield* this.reduced(parts);
    if (flat === null) return this.grammar.nothing;
    const [group, ...later] = flat.groups;
    if (group === undefined) return yield* this.valueWith(yield* collectFacts(this.document, flat.nodes));
    const shared: SchemaPart[] = [...flat.nodes.map((node): SchemaPart => ({ kind: 'own', node })), ...later];
    this.combine(group, shared.length);
    const branchOf = (branch: SchemaNode): SchemaPart[] => [...shared, { kind: 'whole', node: branch }];
    if (group.keyword === 'oneOf') return yield* this.exclusiveBranches(group, branchOf);
    const rules: GrammarNode[] = [];
    for (const branch of group.branches) {
      if (isSliceOver()) yield;
      rules.push(this.ruleFor(branchOf(branch)));
    }
    return this.grammar.anyOf(rules);
  }

  /**
   * As `flatten`, without generated alternatives that do not go with the rest: where one is left, it is one of the parts.
   * Null where nothing satisfies the parts.
   */
  private *reduced(parts: readonly SchemaPart[]): Generator<void, FlatSchema | null> {
    const flat = yield* flatten(this.document, parts);
    if (flat === null || !flat.groups.some(({ node }) => this.reducible.has(node))) return flat;
    const facts = yield* collectFacts(this.document, flat.nodes);
    const groups: SchemaGroup[] = [];
    const only: SchemaNode[] = [];
    for (const group of flat.groups) {
      if (!this.reducible.has(group.node)) {
        groups.push(group);
        continue;
      }
      const branches = yield* alternativesBeside(this.document, facts, group.branches);
      const [first] = branches;
      if (first === undefined) return null;
      if (branches.length === 1) only.push(first);
      else groups.push({ ...group, branches });
    }
    groups.sort((left, right) => left.branches.length - right.branches.length);
    if (only.length === 0) return { nodes: flat.nodes, groups };
    return yield* this.reduced([
      ...flat.nodes.map((node): SchemaPart => ({ kind: 'own', node })),
      ...groups,
      ...only.map((node): SchemaPart => ({ kind: 'whole', node })),
    ]);
  }

  /** Each alternative is a list of all that holds beside it: a product of what the schema has. */
  private combine({ branches, node, keyword }: SchemaGroup, shared: number): void {
    this.combined += branches.length * (shared + 1);
    if (this.combined <= maxCombined) return;
    const reason = 'the alternatives and what holds beside them are too many together';
    throw new ConstraintRefusal(reason, `${node.pointer}/${keyword}`);
  }

  /** Branches of a `oneOf`, each without the values of those that may accept the same ones. */
  private *exclusiveBranches(
    { branches, node }: SchemaGroup,
    branchOf: (branch: SchemaNode) => SchemaPart[],
  ): Generator<void, GrammarNode> {
    const possible: Branch[] = [];
    let isListed = true;
    for (const branch of branches) {
      const parts = branchOf(branch);
      const flat = yield* flatten(this.document, parts);
      if (flat === null) continue;
      const facts = yield* collectFacts(this.document, flat.nodes);
      possible.push({ branch, parts, facts });
      isListed &&= facts.values !== null && flat.groups.length === 0;
    }
    const overlaps = yield* this.overlapsOf(possible, node);
    if (isListed && overlaps.size === 0) {
      return this.grammar.anyOf(yield* this.listed(possible.flatMap(({ facts }) => facts.values ?? [])));
    }
    const rules: GrammarNode[] = [];
    for (const branch of possible) {
      if (isSliceOver()) yield;
      const others = overlaps.get(branch) ?? [];
      rules.push(
        this.ruleFor([...branch.parts, ...others.map((other): SchemaPart => ({ kind: 'whole', node: other }))]),
      );
    }
    return this.grammar.anyOf(rules);
  }

  /**
   * For each branch, what accepts none of the values that another one may accept too. Refuses branches that cannot be told
   * apart so; leaves that out of a schema that is not strict.
   */
  private *overlapsOf(
    possible: readonly Branch[],
    { pointer }: SchemaNode,
  ): Generator<void, ReadonlyMap<Branch, SchemaNode[]>> {
    const found = new Map<Branch, SchemaNode[]>();
    const pairs = yield* findOverlaps(
      this.document,
      possible.map(({ facts }) => facts),
      this.document.isStrict ? maxOverlaps : 0,
    );
    for (const [left, right] of pairs ?? []) {
      for (const [of, other] of [
        [possible[left], possible[right]],
        [possible[right], possible[left]],
      ]) {
        if (of === undefined || other === undefined) continue;
        const without = yield* this.without(other.branch, of.facts);
        if (without === null) return this.leaveOutOneOf(pointer);
        found.set(of, [...(found.get(of) ?? []), without]);
      }
    }
    return pairs === null ? this.leaveOutOneOf(pointer) : found;
  }

  private leaveOutOneOf(pointer: string): ReadonlyMap<Branch, SchemaNode[]> {
    const reason = 'a value may match two branches of oneOf; use anyOf, or tell them apart';
    this.document.leaveOut(reason, `${pointer}/oneOf`);
    return new Map();
  }

  /** Accepts what `facts` say of values that `schema` does not accept; null where none of those can be told. */
  private *without(schema: SchemaNode, facts: SchemaFacts): Generator<void, SchemaNode | null> {
    const { alternatives, isExact } = this.document.negated(schema);
    const kept = yield* alternativesBeside(this.document, facts, alternatives);
    const [only] = kept;
    if (only === undefined) return isExact ? this.document.constant(false) : null;
    if (kept.length === 1) return only;
    const node = this.document.generated(schema.pointer, { anyOf: kept.map(({ written }) => written) });
    this.reducible.add(node);
    return node;
  }

  private *valueWith(facts: SchemaFacts): Generator<void, GrammarNode> {
    const { grammar, json } = this;
    const values = yield* this.listedValues(facts);
    if (values !== null) return grammar.anyOf(yield* this.listed(values));
    this.leaveOutExcluded(facts);
    const choices: GrammarNode[] = [];
    const add = (regex: Regex): number => choices.push(grammar.lexeme(regex));
    const isExcluded = (constant: unknown): boolean => facts.excluded.some(({ value }) => value === constant);
    for (const constant of [null, true, false]) {
      const type = constant === null ? 'null' : 'boolean';
      if (facts.types.has(type) && !isExcluded(constant)) add(json.oneOf([String(constant)]));
    }
    if (facts.types.has('number')) add(yield* this.numbers(facts));
    if (facts.types.has('string')) add(yield* this.stringLanguage(facts));
    if (facts.types.has('array')) choices.push(yield* this.arrays(facts));
    if (facts.types.has('object')) choices.push(yield* this.objects(facts));
    return grammar.choice(...choices);
  }

  /** Listed values that keep the patterns and multiples beside them; null where values are not listed. */
  private *listedValues(facts: SchemaFacts): Generator<void, unknown[] | null> {
    const { values, patterns, multiples } = facts;
    const { arena } = this.grammar;
    if (values === null) return null;
    const strings = patterns.length > 0 ? yield* this.stringLanguage({ ...facts, excluded: [] }) : null;
    const numbers = multiples.length > 0 ? yield* this.numbers({ ...facts, excluded: [] }) : null;
    const kept: unknown[] = [];
    for (const value of values) {
      if (isSliceOver(4)) yield;
      const isKept =
        typeof value === 'string'
          ? strings === null || hasText(arena, strings, JSON.stringify(value))
          : typeof value !== 'number' || numbers === null || hasText(arena, numbers, withoutExponent(value));
      if (isKept) kept.push(value);
    }
    return kept;
  }

  private *numbers(facts: SchemaFacts): Generator<void, Regex> {
    try {
      return yield* numberLanguage(this.json, facts);
    } catch (error) {
      this.document.leaveOutRefused(error);
      return yield* numberLanguage(this.json, { ...facts, multiples: [] });
    }
  }

  private *arrays(facts: SchemaFacts): Generator<void, GrammarNode> {
    try {
      return yield* this.lists.compile(facts);
    } catch (error) {
      this.document.leaveOutRefused(error);
      return yield* this.lists.compile({ ...facts, uniqueItems: null });
    }
  }

  private *objects(facts: SchemaFacts): Generator<void, GrammarNode> {
    try {
      return yield* this.members.compile(facts);
    } catch (error) {
      this.document.leaveOutRefused(error);
      return yield* this.members.compile(withoutNamePatterns(facts, this.document.constant(true)));
    }
  }

  /** Forbidden lists and objects have more than one text. */
  private leaveOutExcluded({ types, excluded }: SchemaFacts): void {
    for (const { value, pointer } of excluded) {
      const type = typeOf(value);
      const isCovered = (type !== 'array' && type !== 'object') || !types.has(type);
      if (!isCovered) this.document.leaveOut(`excludes values of type ${type} that are not listed`, pointer);
    }
  }

  private *stringLanguage({ patterns, minLength, maxLength, excluded }: SchemaFacts): Generator<void, Regex> {
    const { arena } = this.grammar;
    if (minLength > maxLength) return arena.empty;
    const forbidden = excluded.map(({ value }) => value).filter((value) => typeof value === 'string');
    if (patterns.length === 0 && forbidden.length === 0)
      return this.json.quoted(arena.repeat(this.json.character, minLength, maxLength));
    const parts: Regex[] = [];
    // All other parts hold of texts that are not between quotes, too.
    let isInQuotes = false;
    for (const { pattern, pointer, isForbidden } of patterns) {
      if (isSliceOver()) yield;
      try {
        const found = this.stringPattern(pattern, pointer);
        parts.push(isForbidden ? arena.not(found) : found);
        isInQuotes ||= !isForbidden;
      } catch (error) {
        this.document.leaveOutRefused(error);
      }
    }
    if (!isInQuotes || minLength > 0 || maxLength < Infinity) {
      parts.push(arena.repeat(this.json.plainCharacter, minLength, maxLength));
    }
    if (forbidden.length > 0) {
      const texts = forbidden.map((value) => JSON.stringify(value).slice(1, -1));
      parts.push(arena.not(yield* this.json.listed(texts)));
    }
    return this.json.quoted(arena.and(...parts));
  }

  /** Listed values: those without members or items are one lexeme. */
  private *listed(values: readonly unknown[]): Generator<void, GrammarNode[]> {
    const { grammar, json } = this;
    const nodes: GrammarNode[] = [];
    const scalars: string[] = [];
    for (const value of values) {
      if (isSliceOver()) yield;
      if (typeof value === 'object' && value !== null) nodes.push(yield* this.exact(value));
      else scalars.push(written(value));
    }
    if (scalars.length > 0) nodes.push(grammar.lexeme(yield* json.listed(scalars)));
    return nodes;
  }

  private *exact(value: unknown): Generator<void, GrammarNode> {
    const { grammar, json } = this;
    if (typeof value !== 'object' || value === null) return grammar.text(written(value));
    const comma = grammar.lexeme(json.comma());
    const isList = Array.isArray(value);
    const content: GrammarNode[] = [];
    for (const [name, member] of Object.entries(value)) {
      if (isSliceOver()) yield;
      if (content.length > 0) content.push(comma);
      if (!isList) content.push(json.name(grammar.arena.text(JSON.stringify(name))));
      content.push(yield* this.exact(member));
    }
    return json.enclosed(isList ? '[' : '{', grammar.inOrder(content), isList ? ']' : '}');
  }
}

/** The facts of more objects: members that patterns name may be anything, and few are enough. */
function withoutNamePatterns(facts: SchemaFacts, anything: SchemaNode): SchemaFacts {
  const members = facts.members.map((said) =>
    said.patterns.length === 0 ? said : { ...said, patterns: [], additional: anything },
  );
  return { ...facts, members, minProperties: Math.min(facts.minProperties, facts.required.size) };
}

/** Integers that take no exponent. */
const longestInteger = 1e21;

/** The JSON of a value without members or items; of a large integer all digits, which are rounded otherwise. */
function written(value: unknown): string {
  const isLarge = Number.isInteger(value) && Math.abs(value as number) < longestInteger;
  return isLarge ? BigInt(value as number).toString() : JSON.stringify(value);
}
