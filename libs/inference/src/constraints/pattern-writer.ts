import { allCodePoints, type CharacterWriter } from './code-points.js';
import { ContextWriter, needsContext } from './pattern-context.js';
import type { LookAround, PatternNode } from './pattern-node.js';
import { ConstraintRefusal } from './refusal.js';
import type { Regex, RegexArena } from './regex.js';

/** Writes a pattern as the language of the texts that it is found in, or that it matches whole. */
export class PatternWriter {
  readonly anyText: Regex;

  constructor(
    private readonly arena: RegexArena,
    private readonly write: CharacterWriter,
  ) {
    this.anyText = arena.star(write(arena, allCodePoints));
  }

  /** The texts of the pattern with `around` at each end that has no anchor. */
  found(node: PatternNode, around: Regex): Regex {
    if (needsContext(node)) return new ContextWriter(this.arena, this.write, this).found(node, around);
    return this.inOrder(node, around);
  }

  private inOrder(node: PatternNode, around: Regex): Regex {
    if (node.kind === 'choice') return this.arena.or(...node.branches.map((branch) => this.inOrder(branch, around)));
    const items = node.kind === 'sequence' ? [...node.items] : [node];
    const [only] = items;
    if (items.length === 1 && only !== undefined && (only.kind === 'sequence' || only.kind === 'choice')) {
      return this.inOrder(only, around);
    }
    const hasStart = items[0]?.kind === 'start';
    if (hasStart) items.shift();
    return this.arena.concat(hasStart ? this.arena.epsilon : around, this.toEnd(items, around));
  }

  /** The texts of a sequence to the end of the whole text. */
  private toEnd(items: PatternNode[], around: Regex): Regex {
    const { arena } = this;
    const hasEnd = items.at(-1)?.kind === 'end';
    const body = hasEnd ? items.slice(0, -1) : items;
    return body.reduceRight(
      (behind, item) =>
        item.kind === 'ahead' ? arena.and(this.ahead(item), behind) : arena.concat(this.exact(item), behind),
      hasEnd ? arena.epsilon : around,
    );
  }

  /** All that may follow, whether or not the text goes on with more than the look-ahead reads. */
  private ahead({ body, isNegated }: LookAround): Regex {
    const branches = body.kind === 'choice' ? body.branches : [body];
    const matched = branches.map((branch) => {
      const items = branch.kind === 'sequence' ? branch.items : [branch];
      return this.toEnd(items, this.anyText);
    });
    const all = this.arena.or(...matched);
    return isNegated ? this.arena.not(all) : all;
  }

  exact(node: PatternNode): Regex {
    const { arena } = this;
    switch (node.kind) {
      case 'characters':
        return this.write(arena, node.set);
      case 'sequence':
        return arena.concat(...node.items.map((item) => this.exact(item)));
      case 'choice':
        return arena.or(...node.branches.map((branch) => this.exact(branch)));
      case 'repeat':
        return arena.repeat(this.exact(node.body), node.min, node.max);
      case 'start':
      case 'end':
        throw new ConstraintRefusal('a pattern with ^ or $ inside is not supported');
      case 'ahead':
      case 'behind':
      case 'boundary':
        throw new ConstraintRefusal('a pattern with look-ahead inside of a group is not supported');
    }
  }
}
