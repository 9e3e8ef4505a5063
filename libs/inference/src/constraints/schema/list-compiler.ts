import { isSliceOver } from '../compile-deadline.js';
import type { GrammarNode } from '../grammar.js';
import type { SchemaContext } from './schema-context.js';
import type { SchemaNode } from './schema-document.js';
import type { SchemaFacts } from './schema-facts.js';

/** Lists: the items of `prefixItems` one by one, then any number of others. */
export class ListCompiler {
  constructor(private readonly compiler: SchemaContext) {}

  /** Yields when its slice is over. */
  *compile(facts: SchemaFacts): Generator<void, GrammarNode> {
    const { grammar, json } = this.compiler;
    const { items, minItems, maxItems } = facts;
    if (minItems > maxItems) return grammar.nothing;
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
