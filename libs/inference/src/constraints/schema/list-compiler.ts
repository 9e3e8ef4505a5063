import { isSliceOver } from '../compile-deadline.js';
import type { GrammarNode } from '../grammar.js';
import { ConstraintRefusal } from '../refusal.js';
import { hasMoreTexts } from '../text-count.js';
import type { SchemaContext } from './schema-context.js';
import type { SchemaNode } from './schema-document.js';
import { type ContainedFacts, type SchemaFacts, schemasOfItem } from './schema-facts.js';

/** Different strings that are counted: hardly a text holds more. */
const maxDistinct = 10_000;

/** Places of a list that differ in what may follow. */
const maxPlaces = 4_000;

/** Schemas of which items must match a number: each set of them is a way of its own. */
const maxContained = 4;

/** An item at a place, which satisfies more schemas. */
type ItemOf = (index: number, more?: readonly SchemaNode[]) => GrammarNode;

/** Where a list is: items before it, no more than make a difference, and how many of them matched each schema. */
interface ListPlace {
  index: number;
  matched: readonly number[];
}

/** Lists: the items of `prefixItems` one by one, then any number of others. */
export class ListCompiler {
  constructor(private readonly compiler: SchemaContext) {}

  /** Yields when its slice is over. */
  *compile(facts: SchemaFacts): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { minItems, maxItems, uniqueItems, contained } = facts;
    if (minItems > maxItems) return grammar.nothing;
    const isDistinct = uniqueItems !== null && maxItems > 1;
    if (isDistinct) {
      const strings = yield* this.distinctStrings(facts);
      if (strings !== null) return strings;
    }
    const itemOf: ItemOf = (index, more = []) => {
      const item = this.compiler.valueOf([...schemasOfItem(facts, index), ...more]);
      return isDistinct && item !== grammar.nothing ? json.distinctItem(item) : item;
    };
    const content = contained.length > 0 ? yield* this.containing(facts, itemOf) : yield* this.anyItems(facts, itemOf);
    return isDistinct ? json.distinctList(content) : json.enclosed('[', content, ']');
  }

  private *anyItems(facts: SchemaFacts, itemOf: ItemOf): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { items, minItems, maxItems } = facts;
    const prefixLength = longestPrefix(facts);
    const comma = grammar.lexeme(json.comma());
    const rest = itemOf(prefixLength);
    const more = grammar.repeat(
      grammar.sequence(comma, rest),
      Math.max(0, minItems - Math.max(prefixLength, 1)),
      Math.max(0, maxItems - Math.max(prefixLength, 1)),
    );
    let content = prefixLength > 0 ? more : this.orEnd(grammar.sequence(rest, more), 0, facts);
    for (let index = prefixLength - 1; index >= 0; index--) {
      if (isSliceOver(1 + items.length)) yield;
      const item = itemOf(index);
      const taken = grammar.sequence(index === 0 ? grammar.epsilon : comma, item, content);
      content = this.orEnd(taken, index, facts);
    }
    return content;
  }

  /** A rule for each place: behind it the list ends, or goes on with an item of one of the ways to match the schemas. */
  private *containing(facts: SchemaFacts, itemOf: ItemOf): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const places = new PlacesOfList(facts);
    const ways = this.waysToMatch(facts.contained);
    const comma = grammar.lexeme(json.comma());
    const rules = new Map<string, ReturnType<typeof grammar.rule>>();
    const open: ListPlace[] = [];
    const ruleOf = (place: ListPlace): GrammarNode => {
      const key = `${place.index} ${place.matched.join(' ')}`;
      const rule = rules.get(key) ?? grammar.rule(facts.pointer);
      if (!rules.has(key)) open.push(place);
      rules.set(key, rule);
      return rule;
    };
    const start = ruleOf({ index: 0, matched: facts.contained.map(() => 0) });
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const choices: GrammarNode[] = places.mayEnd(place) ? [grammar.epsilon] : [];
      for (const { isMatch, schemas } of ways) {
        if (isSliceOver()) yield;
        const next = places.behind(place, isMatch);
        if (next === null) continue;
        const item = itemOf(place.index, schemas);
        const separator = place.index === 0 ? grammar.epsilon : comma;
        if (item !== grammar.nothing) choices.push(grammar.sequence(separator, item, ruleOf(next)));
      }
      const rule = rules.get(`${place.index} ${place.matched.join(' ')}`);
      if (rule !== undefined) rule.body = grammar.anyOf(choices);
    }
    return start;
  }

  /** Each set of the schemas, with what an item satisfies that matches those; others are left open where none counts them. */
  private waysToMatch(contained: readonly ContainedFacts[]): { isMatch: boolean[]; schemas: SchemaNode[] }[] {
    const [first] = contained;
    if (first !== undefined && contained.length > maxContained) {
      throw new ConstraintRefusal(`more than ${maxContained} kinds of items are not supported`, first.pointer);
    }
    return Array.from({ length: 2 ** contained.length }, (_, bits) => {
      const isMatch = contained.map((_, index) => ((bits >> index) & 1) === 1);
      const schemas = contained.flatMap(({ schema, max }, index) => {
        if (isMatch[index] === true) return [schema];
        return max === Infinity ? [] : [this.compiler.negationOf(schema)];
      });
      return { isMatch, schemas };
    });
  }

  /** Strings of which none comes twice; null for other items. */
  private *distinctStrings(facts: SchemaFacts): Generator<void, GrammarNode | null> {
    const { grammar, json } = this.compiler;
    const { minItems, maxItems } = facts;
    const isPlain = facts.items.every(({ prefix }) => prefix.length === 0) && facts.contained.length === 0;
    const strings = isPlain ? yield* this.compiler.stringsOf(schemasOfItem(facts, 0)) : null;
    if (strings === null) return null;
    if (minItems > 0 && !hasMoreTexts(grammar.arena, strings, Math.min(minItems, maxDistinct) - 1))
      return grammar.nothing;
    const item = json.distinctString(strings);
    const later = grammar.sequence(grammar.lexeme(json.comma()), item);
    const more = grammar.repeat(later, Math.max(0, minItems - 1), maxItems - 1);
    const end = minItems > 0 ? grammar.nothing : grammar.epsilon;
    return json.distinctList(grammar.choice(end, grammar.sequence(item, more)));
  }

  /** The list may end before the item at `index`, must where it is full, and must not where too few came. */
  private orEnd(taken: GrammarNode, index: number, { minItems, maxItems }: SchemaFacts): GrammarNode {
    const { grammar } = this.compiler;
    return grammar.choice(
      index >= minItems ? grammar.epsilon : grammar.nothing,
      index < maxItems ? taken : grammar.nothing,
    );
  }
}

/** The places of a list with items that are counted. */
class PlacesOfList {
  /** Items and matches beyond which no count makes a difference. */
  private readonly lastIndex: number;
  private readonly lastMatches: readonly number[];

  constructor(private readonly facts: SchemaFacts) {
    const { minItems, maxItems, contained } = facts;
    this.lastIndex = Math.max(longestPrefix(facts), maxItems === Infinity ? minItems : maxItems, 1);
    this.lastMatches = contained.map(({ min, max }) => (max === Infinity ? min : max));
    const places = this.lastMatches.reduce((product, count) => product * (count + 1), this.lastIndex + 1);
    if (places <= maxPlaces) return;
    const reason = 'so many items are not supported beside others that are counted';
    throw new ConstraintRefusal(reason, contained[0]?.pointer);
  }

  mayEnd({ index, matched }: ListPlace): boolean {
    return index >= this.facts.minItems && this.facts.contained.every(({ min }, which) => (matched[which] ?? 0) >= min);
  }

  /** Null where the list is full, or has as many matches as it may have. */
  behind({ index, matched }: ListPlace, isMatch: readonly boolean[]): ListPlace | null {
    const { maxItems, contained } = this.facts;
    if (index >= maxItems) return null;
    const counts = matched.map((count, which) => count + (isMatch[which] === true ? 1 : 0));
    if (contained.some(({ max }, which) => (counts[which] ?? 0) > max)) return null;
    const kept = counts.map((count, which) => Math.min(count, this.lastMatches[which] ?? 0));
    return { index: Math.min(index + 1, this.lastIndex), matched: kept };
  }
}

function longestPrefix({ items }: SchemaFacts): number {
  return items.reduce((longest, { prefix }) => Math.max(longest, prefix.length), 0);
}
