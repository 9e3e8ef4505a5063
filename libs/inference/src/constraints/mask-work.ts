import { type MaskHistory, maxFew, newMaskHistory } from '../sampling/token-constraint.js';
import { hasSliceEnded, isSliceOver } from './compile-deadline.js';
import type { TextAutomaton, TextState } from './text-automaton.js';
import type { TokenTrie } from './token-trie.js';

/** Nodes of the trie between two looks at the clock: most take no time. What takes some is counted by itself. */
const nodesPerLook = 1_024;

/** Maximum number of tokens outside of a mask that are listed. */
const maxExcluded = 512;

/** The tokens with which a text may go on. */
export interface KnownMask {
  mask: Uint32Array;
  isEmpty: boolean;
  /** Whether every token with bytes may come next. */
  isFull: boolean;
  few: number[] | null;
  excluded: number[] | null;
  history: MaskHistory;
}

/** The making of one mask, which may take several slices. */
export class MaskWork {
  private readonly mask: Uint32Array;
  private readonly path: (TextState | null)[];
  private node = 0;
  private count = 0;

  constructor(
    private readonly trie: TokenTrie,
    private readonly automaton: TextAutomaton,
    start: TextState,
  ) {
    this.mask = new Uint32Array(wordsOf(trie));
    this.path = [start];
  }

  /** Goes on until the mask is made, or the slice is over: then null. */
  advance(): KnownMask | null {
    const { bytes, depths, skips, firstTokens, tokens } = this.trie;
    const { path, mask, automaton } = this;
    let { node, count } = this;
    let untilLook = nodesPerLook;
    while (node < bytes.length) {
      const depth = depths[node] as number;
      const next = automaton.next(path[depth] as TextState, bytes[node] as number);
      if (next === null) node = skips[node] as number;
      else {
        path[depth + 1] = next;
        const end = firstTokens[node + 1] as number;
        for (let position = firstTokens[node] as number; position < end; position++) {
          const id = tokens[position] as number;
          mask[id >> 5] = (mask[id >> 5] as number) | (1 << (id & 31));
          count++;
        }
        node++;
      }
      if (--untilLook === 0) {
        untilLook = nodesPerLook;
        if (!isSliceOver(nodesPerLook / 16)) continue;
      } else if (!hasSliceEnded()) continue;
      this.node = node;
      this.count = count;
      return null;
    }
    return this.finished(count);
  }

  private finished(count: number): KnownMask {
    const { mask, trie } = this;
    const excluded = mask.length * 32 - count > maxExcluded ? null : idsOf(mask, false);
    return {
      mask,
      isEmpty: count === 0,
      isFull: count === trie.tokens.length,
      few: count > maxFew ? null : idsOf(mask, true),
      excluded,
      history: newMaskHistory({ isAlmostAll: excluded !== null }),
    };
  }
}

/** Ids whose bit is set, or is not, ascending. */
function idsOf(mask: Uint32Array, isSet: boolean): number[] {
  const ids: number[] = [];
  for (let word = 0; word < mask.length; word++) {
    const bits = (mask[word] as number) ^ (isSet ? 0 : -1);
    for (let rest = bits; rest !== 0; rest &= rest - 1) ids.push((word << 5) + 31 - Math.clz32(rest & -rest));
  }
  return ids;
}

function wordsOf({ vocabularySize }: TokenTrie): number {
  return (vocabularySize + 31) >> 5;
}
