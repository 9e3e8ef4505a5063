import { isSliceOver } from '../compile-deadline.js';
import type { GrammarNode } from '../grammar.js';
import { ConstraintRefusal } from '../refusal.js';
import type { Regex } from '../regex.js';
import { hasMoreTexts } from '../text-count.js';
import type { SchemaContext } from './schema-context.js';
import type { SchemaNode } from './schema-document.js';
import { type SchemaFacts, schemasOfMember } from './schema-facts.js';

/** A member with a name of its own. */
interface Member {
  /** Its quoted name, colon and value, by what it is one of: bits of `SchemaFacts.otherMembers`. */
  ways: { node: GrammarNode; wanted: number }[];
  isRequired: boolean;
}

/** What may follow before any member and behind one, by how many members came, and by which of the wanted ones did. */
type Rests = { first: GrammarNode; later: GrammarNode }[][];

/** Members without a name of their own: any of them, and the wanted ones. */
interface Tail {
  other: GrammarNode;
  wanted: readonly GrammarNode[];
}

/** A member whose name the schema does not list. */
interface OtherMember {
  name: Regex;
  /** Its quoted name, colon and value. */
  node: GrammarNode;
}

/** Names that are counted: hardly a text holds more. */
const maxNames = 10_000;

/** Members that an object wants beside those with names: each set of them has a place of its own. */
const maxWanted = 4;

/** Patterns of names that one object may have: each set of them has a rule of its own. */
const maxPatterns = 5;

/**
 * Objects: the named members in the order in which the schema declares them, then those that only a pattern or
 * `additionalProperties` allows.
 */
export class MemberCompiler {
  constructor(private readonly compiler: SchemaContext) {}

  /** Yields when its slice is over. */
  *compile(facts: SchemaFacts): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    if (facts.minProperties > facts.maxProperties) return grammar.nothing;
    if (facts.otherMembers.length > maxWanted) {
      throw new ConstraintRefusal(`more than ${maxWanted} kinds of members are not supported`, facts.pointer);
    }
    const patterns = this.patternsOf(facts);
    const names = new Set([...facts.members.flatMap(({ properties }) => [...properties.keys()]), ...facts.required]);
    const members: Member[] = [];
    for (const name of names) {
      if (isSliceOver(8)) yield;
      const isRequired = facts.required.has(name);
      const ways = this.waysOf(facts, name);
      if (ways.length === 0 && isRequired) return grammar.nothing;
      if (ways.length > 0) members.push({ ways, isRequired });
    }
    const others = yield* this.otherMembers(facts, names, patterns);
    const other = grammar.anyOf(others.map(({ node }) => node));
    if (other === grammar.nothing && facts.minProperties > members.length) return grammar.nothing;
    this.checkMinimum(facts, others, members);
    const wanted = yield* this.wantedMembers(facts, names, patterns);
    const content = yield* this.chain(facts, members, { other, wanted });
    return other === grammar.nothing ? json.enclosed('{', content, '}') : json.openObject(content);
  }

  /** A member with a name of its own: with any value, and with those that make it a wanted one. */
  private waysOf(facts: SchemaFacts, name: string): Member['ways'] {
    const { grammar, json } = this.compiler;
    const key = json.name(grammar.arena.text(JSON.stringify(name)));
    const schemas = schemasOfMember(facts, name, this.matcher(name));
    let always = 0;
    const special: { bit: number; schema: SchemaNode }[] = [];
    for (const [index, { names, patterns, value }] of facts.otherMembers.entries()) {
      const isNamed = names.has(name) || patterns.some((pattern) => this.matcher(name)(pattern, facts.pointer));
      if (isNamed) continue;
      if (Object.keys(value).length === 0) always |= 1 << index;
      else special.push({ bit: 1 << index, schema: this.compiler.generated(facts.pointer, value) });
    }
    const ways = [{ wanted: always, value: this.compiler.valueOf(schemas) }];
    for (const { bit, schema } of special) {
      ways.push({ wanted: always | bit, value: this.compiler.valueOf([...schemas, schema]) });
    }
    const possible = ways.filter(({ value }) => value !== grammar.nothing);
    return possible.map(({ wanted, value }) => ({ wanted, node: grammar.sequence(key, value) }));
  }

  /** For each wanted member the one that has no name of its own. */
  private *wantedMembers(
    facts: SchemaFacts,
    names: ReadonlySet<string>,
    patterns: ReadonlyMap<string, string>,
  ): Generator<void, GrammarNode[]> {
    const { grammar } = this.compiler;
    const found: GrammarNode[] = [];
    for (const wanted of facts.otherMembers) {
      const nothing = this.compiler.generated('!false', { not: {} });
      const excluded = {
        properties: new Map([...wanted.names].map((name) => [name, nothing])),
        patterns: wanted.patterns.map((pattern) => ({ pattern, place: facts.pointer, schema: nothing })),
        additional: this.compiler.generated(facts.pointer, wanted.value),
      };
      const distinct = new Map([...patterns, ...wanted.patterns.map((pattern) => [pattern, facts.pointer] as const)]);
      const all = new Set([...names, ...wanted.names]);
      const members = [...facts.members, excluded];
      const ways = yield* this.otherMembers({ ...facts, members }, all, distinct);
      found.push(grammar.anyOf(ways.map(({ node }) => node)));
    }
    return found;
  }

  private patternsOf(facts: SchemaFacts): ReadonlyMap<string, string> {
    const patterns = facts.members.flatMap((members) => members.patterns);
    const distinct = new Map(patterns.map(({ pattern, place }) => [pattern, place]));
    if (distinct.size <= maxPatterns) return distinct;
    const [, place] = [...distinct][maxPatterns] ?? [];
    throw new ConstraintRefusal(`more than ${maxPatterns} patterns of names are not supported`, place);
  }

  private matcher(name: string): (pattern: string, place: string) => boolean {
    const { arena } = this.compiler.grammar;
    const bytes = new TextEncoder().encode(JSON.stringify(name).slice(1, -1));
    return (pattern, place) => {
      const found = this.compiler.stringPattern(pattern, place);
      return bytes.reduce((regex, byte) => arena.derive(regex, byte), found).nullable;
    };
  }

  /** Members whose name is none of `names`: one for each set of patterns that a name may match. */
  private *otherMembers(
    facts: SchemaFacts,
    names: ReadonlySet<string>,
    patterns: ReadonlyMap<string, string>,
  ): Generator<void, OtherMember[]> {
    const { grammar, json } = this.compiler;
    const { arena } = grammar;
    const isListed = patterns.size > 0;
    const all: OtherMember[] = [];
    const add = (name: Regex, schemas: readonly SchemaNode[]): void => {
      const value = this.compiler.valueOf(schemas);
      if (value !== grammar.nothing)
        all.push({ name, node: grammar.sequence(json.openName(name, { isListed }), value) });
    };
    if (patterns.size === 0 && names.size === 0) {
      add(json.anyString(), schemasOfOther(facts, new Set()));
      return all;
    }
    const listed = [...patterns].map(
      ([pattern, place]) => [pattern, this.compiler.stringPattern(pattern, place)] as const,
    );
    const isOther = yield* this.isNoneOf(names);
    for (let bits = 0; bits < 2 ** listed.length; bits++) {
      const isIn = (index: number): boolean => ((bits >> index) & 1) === 1;
      const checks = listed.map(([, regex], index) => (isIn(index) ? regex : arena.not(regex)));
      const name = arena.and(arena.star(json.plainCharacter), isOther, ...checks);
      if (!(yield* arena.findLive(name))) continue;
      const matched = new Set(listed.filter((_, index) => isIn(index)).map(([pattern]) => pattern));
      add(json.quoted(name), schemasOfOther(facts, matched));
    }
    return all;
  }

  private *isNoneOf(names: ReadonlySet<string>): Generator<void, Regex> {
    const { grammar, json } = this.compiler;
    if (names.size === 0) return grammar.arena.anything;
    return grammar.arena.not(yield* json.listed([...names].map((name) => JSON.stringify(name).slice(1, -1))));
  }

  /** Members that are not listed must have names enough, whichever of them some value satisfies. */
  private checkMinimum(
    { minProperties, pointer }: SchemaFacts,
    others: readonly OtherMember[],
    members: readonly Member[],
  ): void {
    const required = members.filter(({ isRequired }) => isRequired).length;
    const { arena } = this.compiler.grammar;
    if (minProperties <= required + 1) return;
    if (others.every(({ name }) => hasMoreTexts(arena, name, Math.min(minProperties, maxNames) - required - 1))) return;
    const reason =
      'more properties than the required ones are not supported where there may be no other names for them';
    throw new ConstraintRefusal(reason, `${pointer}/minProperties`);
  }

  /**
   * From the last member to the first: what may follow depends on whether it is the first, on how many came, and on which
   * of the wanted ones did.
   */
  private *chain(facts: SchemaFacts, members: readonly Member[], tail: Tail): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { minProperties, maxProperties } = facts;
    // No count beyond one more than all members makes a difference, whatever number the schema has.
    const most = Math.min(maxProperties === Infinity ? minProperties : maxProperties, members.length + 1);
    const comma = grammar.lexeme(json.comma());
    const table = (rest: (wanted: number, count: number, isFirst: boolean) => GrammarNode): Rests =>
      Array.from({ length: 2 ** tail.wanted.length }, (_, wanted) =>
        Array.from({ length: most + 1 }, (__, count) => ({
          first: rest(wanted, count, true),
          later: rest(wanted, count, false),
        })),
      );
    let next = table((wanted, count, isFirst) => this.wantedThenOthers(facts, tail, { wanted, count, isFirst }));
    for (const { ways, isRequired } of [...members].reverse()) {
      if (isSliceOver()) yield;
      const after = next;
      next = table((wanted, count, isFirst) => {
        const place = after[wanted]?.[count];
        const skipped = (isFirst ? place?.first : place?.later) ?? grammar.nothing;
        const taken = ways.map((way) => {
          const rest = after[wanted | way.wanted]?.[Math.min(count + 1, most)]?.later ?? grammar.nothing;
          return grammar.sequence(isFirst ? grammar.epsilon : comma, way.node, rest);
        });
        return grammar.choice(...(count >= maxProperties ? [] : taken), isRequired ? grammar.nothing : skipped);
      });
    }
    return next[0]?.[0]?.first ?? grammar.nothing;
  }

  /** The wanted members that did not come, one by one, and then any others. */
  private wantedThenOthers(
    facts: SchemaFacts,
    { other, wanted: all }: Tail,
    { wanted, count, isFirst }: { wanted: number; count: number; isFirst: boolean },
  ): GrammarNode {
    const { grammar, json } = this.compiler;
    const missing = all.filter((_, index) => ((wanted >> index) & 1) === 0);
    if (missing.length === 0) return this.others(facts, other, { isFirst, count });
    if (count + missing.length > facts.maxProperties) return grammar.nothing;
    const comma = grammar.lexeme(json.comma());
    const members = missing.flatMap((node, index) => (isFirst && index === 0 ? [node] : [comma, node]));
    const rest = this.others(facts, other, { isFirst: false, count: count + missing.length });
    return grammar.inOrder([...members, rest]);
  }

  private others(
    { minProperties, maxProperties }: SchemaFacts,
    other: GrammarNode,
    { isFirst, count }: { isFirst: boolean; count: number },
  ): GrammarNode {
    const { grammar, json } = this.compiler;
    const least = Math.max(0, minProperties - count);
    const most = maxProperties - count;
    const end = least === 0 ? grammar.epsilon : grammar.nothing;
    if (other === grammar.nothing || most <= 0 || least > most) return end;
    const later = grammar.sequence(grammar.lexeme(json.comma()), other);
    if (!isFirst) return grammar.repeat(later, least, most);
    return grammar.choice(end, grammar.sequence(other, grammar.repeat(later, Math.max(0, least - 1), most - 1)));
  }
}

/** The schemas of a member without a name of its own that matches exactly these patterns. */
function schemasOfOther({ members }: SchemaFacts, matched: ReadonlySet<string>): SchemaNode[] {
  return members.flatMap(({ patterns, additional }) => {
    const found = patterns.filter(({ pattern }) => matched.has(pattern)).map(({ schema }) => schema);
    return found.length > 0 || additional === null ? found : [additional];
  });
}
