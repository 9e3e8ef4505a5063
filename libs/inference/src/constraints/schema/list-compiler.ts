import { isSliceOver } from '../compile-deadline.js';
import type { GrammarNode } from '../grammar.js';
import { ConstraintRefusal } from '../refusal.js';
import { hasMoreTexts } from '../text-count.js';
import type { SchemaContext } from './schema-context.js';
import type { SchemaNode } from './schema-document.js';
import type { SchemaFacts } from './schema-facts.js';

/** Different strings that are counted: hardly a text holds more. */
const maxDistinct = 10_000;

/** Lists: the items of `prefixItems` one by one, then any number of others. */
export class ListCompiler {
  constructor(private readonly compiler: SchemaContext) {}

  /** Yields when its slice is over. */
  *compile(facts: SchemaFacts): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { items, minItems, maxItems, uniqueItems } = facts;
    if (minItems > maxItems) return grammar.nothing;
    if (uniqueItems !== null && maxItems > 1) return yield* this.distinct(facts, uniqueItems);
    const prefixLength = items.reduce((longest, { prefix }) => Math.max(longest, prefix.length), 0);
    const comma = grammar.lexeme(json.comma());
    const rest = this.compiler.valueOf(schemasAt(facts, prefixLength));
    const more = grammar.repeat(
      grammar.sequence(comma, rest),
      Math.max(0, minItems - Math.max(prefixLength, 1)),
      Math.max(0, maxItems - Math.max(prefixLength, 1)),
    );
    let content = prefixLength > 0 ? more : this.orEnd(grammar.sequence(rest, more), 0, facts);
    for (let index = prefixLength - 1; index >= 0; index--) {
      if (isSliceOver(1 + items.length)) yield;
      const item = this.compiler.valueOf(schemasAt(facts, index));
      const taken = grammar.sequence(index === 0 ? grammar.epsilon : comma, item, content);
      content = this.orEnd(taken, index, facts);
    }
    return json.enclosed('[', content, ']');
  }

  /** Strings of which none comes twice. Throws `ConstraintRefusal` for other items. */
  private *distinct(facts: SchemaFacts, pointer: string): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { minItems, maxItems } = facts;
    const isPlain = facts.items.every(({ prefix }) => prefix.length === 0);
    const strings = isPlain ? yield* this.compiler.stringsOf(schemasAt(facts, 0)) : null;
    if (strings === null) throw new ConstraintRefusal('is only supported for items that are strings', pointer);
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

function schemasAt({ items }: SchemaFacts, index: number): SchemaNode[] {
  return items.flatMap(({ prefix, items: rest }) => prefix[index] ?? rest ?? []);
}
