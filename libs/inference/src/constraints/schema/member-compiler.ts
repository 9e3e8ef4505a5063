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
  /** Its quoted name, colon and value. */
  node: GrammarNode;
  isRequired: boolean;
}

/** A member whose name the schema does not list. */
interface OtherMember {
  name: Regex;
  /** Its quoted name, colon and value. */
  node: GrammarNode;
}

/** Names that are counted: hardly a text holds more. */
const maxNames = 10_000;

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
    const patterns = this.patternsOf(facts);
    const names = new Set([...facts.members.flatMap(({ properties }) => [...properties.keys()]), ...facts.required]);
    const members: Member[] = [];
    for (const name of names) {
      if (isSliceOver(8)) yield;
      const isRequired = facts.required.has(name);
      const value = this.compiler.valueOf(schemasOfMember(facts, name, this.matcher(name)));
      if (value === grammar.nothing && isRequired) return grammar.nothing;
      const key = json.name(grammar.arena.text(JSON.stringify(name)));
      if (value !== grammar.nothing) members.push({ node: grammar.sequence(key, value), isRequired });
    }
    const others = yield* this.otherMembers(facts, names, patterns);
    const other = grammar.anyOf(others.map(({ node }) => node));
    if (other === grammar.nothing && facts.minProperties > members.length) return grammar.nothing;
    this.checkMinimum(facts, others, members);
    const content = yield* this.chain(facts, members, other);
    return other === grammar.nothing ? json.enclosed('{', content, '}') : json.openObject(content);
  }

  private patternsOf(facts: SchemaFacts): ReadonlyMap<string, string> {
    const patterns = facts.members.flatMap((members) => members.patterns);
    const distinct = new Map(patterns.map(({ pattern, place }) => [pattern, place]));
    if (distinct.size <= maxPatterns) return distinct;
    throw new ConstraintRefusal(`more than ${maxPatterns} patterns of names are not supported`, facts.pointer);
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

  /** From the last member to the first: what may follow depends on whether it is the first, and on how many came. */
  private *chain(facts: SchemaFacts, members: readonly Member[], other: GrammarNode): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { minProperties, maxProperties } = facts;
    // No count beyond one more than all members makes a difference, whatever number the schema has.
    const most = Math.min(maxProperties === Infinity ? minProperties : maxProperties, members.length + 1);
    const comma = grammar.lexeme(json.comma());
    const behind = (member: GrammarNode, isFirst: boolean): GrammarNode =>
      isFirst ? member : grammar.sequence(comma, member);
    const counts = Array.from({ length: most + 1 }, (_, count) => count);
    let next = counts.map((count) => ({
      first: this.others(facts, other, { isFirst: true, count }),
      later: this.others(facts, other, { isFirst: false, count }),
    }));
    for (const { node, isRequired } of [...members].reverse()) {
      if (isSliceOver()) yield;
      const after = next;
      const continued = (count: number, isFirst: boolean): GrammarNode => {
        const skipped = (isFirst ? after[count]?.first : after[count]?.later) ?? grammar.nothing;
        const rest = after[Math.min(count + 1, most)]?.later ?? grammar.nothing;
        const taken = count >= maxProperties ? grammar.nothing : grammar.sequence(behind(node, isFirst), rest);
        return isRequired ? taken : grammar.choice(taken, skipped);
      };
      next = counts.map((count) => ({ first: continued(count, true), later: continued(count, false) }));
    }
    return next[0]?.first ?? grammar.nothing;
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
