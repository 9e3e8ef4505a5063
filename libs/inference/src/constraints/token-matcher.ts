import { PlatformError } from '#common';
import {
  type AllowedTokens,
  type MaskHistory,
  maxFew,
  newMaskHistory,
  type TokenConstraint,
} from '../sampling/token-constraint.js';
import { withDeadline } from './compile-deadline.js';
import { ConstraintRefusal } from './refusal.js';
import type { TextAutomaton, TextState } from './text-automaton.js';
import { WorkTimer } from './work-timer.js';
import type { TokenTrie } from './token-trie.js';

/** How long one mask may take, in ms: it is computed between two steps, and every other request waits. */
const maxMaskMs = 500;

/** Default bound of one grammar's masks; those used last are kept in any case. */
const defaultMaxBytes = 64 * 2 ** 20;
const minKeptMasks = 16;

/** Nodes of the trie between two looks at the clock. */
const nodesPerCheck = 4_096;

/** Tokens of a text between two looks at the memory. */
const acceptsPerCheck = 16;

/** Maximum number of tokens outside of a mask that are listed. */
const maxExcluded = 512;

interface KnownMask {
  mask: Uint32Array;
  isEmpty: boolean;
  /** Whether every token with bytes may come next. */
  isFull: boolean;
  few: number[] | null;
  excluded: number[] | null;
  history: MaskHistory;
}

/** Masks of one grammar, least recently used out first. */
export class MaskCache {
  private readonly known = new Map<TextState, KnownMask>();
  private readonly path: (TextState | null)[] = [];
  /** Memory of the masks. */
  bytes = 0;

  /** `onGrowth` is called behind each new mask, and by `checkGrowth`. What it throws fails the sequence that grew. */
  constructor(
    readonly trie: TokenTrie,
    private readonly options: { maxBytes?: number; onGrowth?: () => void } = {},
  ) {}

  maskOf(automaton: TextAutomaton, state: TextState): KnownMask {
    // Tokens are shorter than this limit, so both states offer the same ones.
    const key = automaton.clip(state, this.trie.longestToken + 1);
    const known = this.known.get(key);
    if (known !== undefined) {
      this.known.delete(key);
      this.known.set(key, known);
      return known;
    }
    const made = this.compute(automaton, key);
    this.known.set(key, made);
    this.bytes += bytesOf(made);
    this.shrink();
    this.checkGrowth();
    return made;
  }

  checkGrowth(): void {
    this.options.onGrowth?.();
  }

  private shrink(): void {
    const { maxBytes = defaultMaxBytes } = this.options;
    for (const [key, mask] of this.known) {
      if (this.bytes <= maxBytes || this.known.size <= minKeptMasks) return;
      this.known.delete(key);
      this.bytes -= bytesOf(mask);
    }
  }

  private compute(automaton: TextAutomaton, start: TextState): KnownMask {
    const { bytes, depths, skips, firstTokens, tokens } = this.trie;
    const { path } = this;
    const mask = new Uint32Array(wordsOf(this.trie));
    // Made at the first look: asking for processor time takes longer than most masks do.
    let timer: WorkTimer | null = null;
    let count = 0;
    let untilCheck = nodesPerCheck;
    path[0] = start;
    for (let node = 0; node < bytes.length;) {
      if (--untilCheck === 0) {
        untilCheck = nodesPerCheck;
        timer ??= new WorkTimer();
        if (timer.exceeds(maxMaskMs)) throw tooSlow();
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
    const excluded = mask.length * 32 - count > maxExcluded ? null : idsOf(mask, false);
    return {
      mask,
      isEmpty: count === 0,
      isFull: count === tokens.length,
      few: count > maxFew ? null : idsOf(mask, true),
      excluded,
      history: newMaskHistory({ isAlmostAll: excluded !== null }),
    };
  }
}

/** The constraint of one choice: an automaton and where in it the choice is. */
export class TokenMatcher implements TokenConstraint {
  private state: TextState;
  private accepted = 0;

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
    return isFree && isComplete && this.mask().isFull;
  }

  allowed(): AllowedTokens {
    const { mask, isEmpty, few, excluded, history } = this.mask();
    const endings = this.state.isComplete ? this.endings : [];
    if (isEmpty && endings.length === 0) {
      throw new PlatformError(
        'INFERENCE_FAILED',
        'No token of this model goes on with the text that the schema demands.',
      );
    }
    return { bits: mask, endings, few, excluded: endings.length > 0 ? null : excluded, history };
  }

  isFinished(): boolean {
    return this.state.isComplete && this.mask().isEmpty;
  }

  /**
   * Whether no token of this vocabulary goes on, and the text must not end: a tokenizer that lacks some bytes. Part of a
   * compilation: throws its refusals.
   */
  isStuck(): boolean {
    return !this.state.isComplete && this.masks.maskOf(this.automaton, this.state).isEmpty;
  }

  accept(tokenId: number): void {
    for (const byte of this.masks.trie.tokenBytes[tokenId] ?? []) {
      const next = withinLimits(() => this.automaton.next(this.state, byte));
      if (next === null) throw new PlatformError('INFERENCE_FAILED', 'A token outside of the grammar was chosen.');
      this.state = next;
    }
    // Masks are shared by many states, so that a text may reach new states without any new mask.
    this.accepted++;
    if (this.accepted % acceptsPerCheck === 0) this.masks.checkGrowth();
  }

  private mask(): KnownMask {
    return withinLimits(() => this.masks.maskOf(this.automaton, this.state));
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

/** With an estimate for the objects around the arrays. */
function bytesOf({ mask, few, excluded }: KnownMask): number {
  return mask.byteLength + ((few?.length ?? 0) + (excluded?.length ?? 0)) * 8 + 400;
}

function wordsOf({ vocabularySize }: TokenTrie): number {
  return (vocabularySize + 31) >> 5;
}

/** A state may turn out too large only when a text has reached it; then the request fails, and it alone. */
function withinLimits<Result>(work: () => Result): Result {
  try {
    return withDeadline({ timer: null, limitMs: maxMaskMs, place: { pointer: '' } }, work);
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    throw new PlatformError('INVALID_REQUEST', `The schema is too large for this output: ${error.reason}.`);
  }
}

function tooSlow(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'The schema is too ambiguous: choosing a token by it takes too long.');
}
