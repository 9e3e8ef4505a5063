import { PlatformError } from '#common';
import type { AllowedTokens, TokenConstraint } from '../sampling/token-constraint.js';
import { ConstraintRefusal } from './refusal.js';
import type { TextAutomaton, TextState } from './text-automaton.js';
import type { TokenTrie } from './token-trie.js';

/** How long one mask may take, in ms: it is computed between two steps, and every other request waits. */
const maxMaskMs = 500;

/** Nodes of the trie between two looks at the clock. */
const nodesPerCheck = 4_096;

interface KnownMask {
  mask: Uint32Array;
  isEmpty: boolean;
  /** Whether every token with bytes may come next. */
  isFull: boolean;
}

/** Masks of one tokenizer, least recently used out first. */
export class MaskCache {
  private readonly known = new Map<TextState, KnownMask>();
  private readonly maxEntries: number;
  private readonly path: (TextState | null)[] = [];

  constructor(
    readonly trie: TokenTrie,
    maxBytes = 64 * 2 ** 20,
  ) {
    this.maxEntries = Math.max(16, Math.floor(maxBytes / Math.max(1, wordsOf(trie) * 4)));
  }

  maskOf(automaton: TextAutomaton, state: TextState): KnownMask {
    // Tokens are shorter than this limit, so both states offer the same ones.
    const key = automaton.clip(state, this.trie.longestToken + 1);
    const known = this.known.get(key);
    if (known !== undefined) {
      this.known.delete(key);
      this.known.set(key, known);
      return known;
    }
    const made = withinLimits(() => this.compute(automaton, key));
    this.known.set(key, made);
    if (this.known.size > this.maxEntries) {
      const [oldest] = this.known.keys();
      if (oldest !== undefined) this.known.delete(oldest);
    }
    return made;
  }

  private compute(automaton: TextAutomaton, start: TextState): KnownMask {
    const { bytes, depths, skips, firstTokens, tokens } = this.trie;
    const { path } = this;
    const mask = new Uint32Array(wordsOf(this.trie));
    const deadline = performance.now() + maxMaskMs;
    let count = 0;
    let untilCheck = nodesPerCheck;
    path[0] = start;
    for (let node = 0; node < bytes.length;) {
      if (--untilCheck === 0) {
        untilCheck = nodesPerCheck;
        if (performance.now() > deadline) throw tooSlow();
      }
      const depth = depths[node] as number;
      const next = automaton.next(path[depth] as TextState, bytes[node] as number);
      if (next === null) {
        node = skips[node] as number;
        continue;
      }
      path[depth + 1] = next;
      const end = firstTokens[node + 1] as number;
      for (let position = firstTokens[node] as number; position < end; position++) {
        const id = tokens[position] as number;
        mask[id >> 5] = (mask[id >> 5] as number) | (1 << (id & 31));
        count++;
      }
      node++;
    }
    path.length = 0;
    return { mask, isEmpty: count === 0, isFull: count === tokens.length };
  }
}

/** The constraint of one choice: an automaton and where in it the choice is. */
export class TokenMatcher implements TokenConstraint {
  private state: TextState;

  constructor(
    private readonly automaton: TextAutomaton,
    private readonly masks: MaskCache,
    /** Tokens that end a text. */
    private readonly endings: readonly number[],
  ) {
    this.state = automaton.start;
  }

  isFree(): boolean {
    const { isComplete, isFree = false } = this.state;
    return isFree && isComplete && this.masks.maskOf(this.automaton, this.state).isFull;
  }

  allowed(): AllowedTokens {
    const { mask, isEmpty } = this.masks.maskOf(this.automaton, this.state);
    const endings = this.state.isComplete ? this.endings : [];
    if (isEmpty && endings.length === 0) {
      throw new PlatformError(
        'INFERENCE_FAILED',
        'No token of this model goes on with the text that the schema demands.',
      );
    }
    return { bits: mask, endings };
  }

  isFinished(): boolean {
    return this.state.isComplete && this.masks.maskOf(this.automaton, this.state).isEmpty;
  }

  /** Whether no token of this vocabulary goes on, and the text must not end: a tokenizer that lacks some bytes. */
  isStuck(): boolean {
    return !this.state.isComplete && this.masks.maskOf(this.automaton, this.state).isEmpty;
  }

  accept(tokenId: number): void {
    for (const byte of this.masks.trie.tokenBytes[tokenId] ?? []) {
      const next = withinLimits(() => this.automaton.next(this.state, byte));
      if (next === null) throw new PlatformError('INFERENCE_FAILED', 'A token outside of the grammar was chosen.');
      this.state = next;
    }
  }
}

function wordsOf({ vocabularySize }: TokenTrie): number {
  return (vocabularySize + 31) >> 5;
}

/** A state may turn out too large only when a text has reached it; then the request fails, and it alone. */
function withinLimits<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    throw new PlatformError('INVALID_REQUEST', `The schema is too large for this output: ${error.reason}.`);
  }
}

function tooSlow(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'The schema is too ambiguous: choosing a token by it takes too long.');
}
